package coherence

import "testing"

func TestScriptChange(t *testing.T) {
	const (
		start  = "The keeper lights the lamp when the fog comes in and then she "
		change = start + "зажигает лампу и ждёт, пока не ответит гудок"
	)
	tryCheck(t, "script-change",
		try{"to Cyrillic", said(change), true},
		try{"from Chinese to Thai", said("北京是中国的首都位于华北平原的北部这座城市有三千多年的历史拥有故宫天坛和颐和园等名胜古迹กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"), true},
		try{"a translation after a colon", said(start + "says: зажигает лампу и ждёт, пока не ответит гудок"), false},
		try{"a translation on its own line", said(start + "\nзажигает лампу и ждёт, пока не ответит гудок"), false},
		try{"a quotation", said(start + "«зажигает лампу и ждёт, пока не ответит гудок»"), false},
		try{"after 39 letters", said("Thekeeperlightsthelampwhenthefogcomesin зажигает лампу и ждёт, пока не ответит гудок"), false},
		try{"after 40 letters", said("Thekeeperlightsthelampwhenthefogcomesina зажигает лампу и ждёт, пока не ответит гудок"), true},
		try{"19 letters", said(start + "зажигает лампу и ждёт э"), false},
		try{"20 letters", said(start + "зажигает лампу и ждёт э я"), true},
		try{"a foreign name", said(start + "visits Екатеринбург"), false},
		try{"back again", said(start + "зажигает лампу и ждёт, пока не and goes home after a very long night indeed"), false},
		try{"the prompt is in Cyrillic", Text{Text: change, Prompt: "Переведи"}, false},
		try{"tagged", Text{Text: change, Tags: []string{"script:Cyrillic"}}, false},
		try{"tagged with another script", Text{Text: change, Tags: []string{"script:Greek"}}, true},
		try{"Latin terms in Russian", said("Хранитель зажигает лампу и ждёт, пока не ответит гудок Python Flask Jinja and the like"), false},
		try{"the baseline does it too", beside(change, change), false},
	)
	tryTags(t, "script-change", change)
}
