package coherence

import (
	"strings"
	"testing"
)

func TestScriptSalad(t *testing.T) {
	const salad = "नदी datoनदी dato น้ำ трававедроน้ำ verraน้ำنهر ведрослово다리 कमल कमल 雾نهر"
	tryCheck(t, "script-salad",
		try{"alone", said(salad), true},
		try{"after good text", said(prose + " " + salad), true},
		try{"before good text", said(salad + " " + prose), true},
		try{"translations", said("English: water; Русский: вода; 中文: 水; 日本語: 水; 한국어: 물; العربية: ماء; हिन्दी: पानी; ไทย: น้ำ; Ελληνικά: νερό"), false},
		try{"translations on lines", said("water\nвода\n水\n물\nماء\nपानी\nน้ำ\nνερό\nwater\nвода\n水\n물\nماء\nपानी\nน้ำ\nνερό"), false},
		try{"Japanese with Latin", said("東京タワーはとても高いTowerです。Pythonを使ってWebアプリを作る"), false},
		try{"Korean with Han and Latin", said("한국(韓國)의 수도는 서울이며 Python 언어로 만든다 大韓民國 만세"), false},
		try{"physics", said("Δx and λ are Greek, so are α, β and γ in formulas of physics."), false},
		try{"15 letters", said("abนนжж물물水水abนนж"), false},
		try{"16 letters", said("abนนжж물물水水abนนжж"), true},
		try{"three scripts", said(strings.Repeat("abนนжж", 5)), false},
		try{"one switch in eight letters: 7 of 64", said(strings.Repeat("aaaaaaaaนนนนนนนนжжжжжжжж물물물물물물물물", 2)), false},
		try{"one switch in seven letters", said(strings.Repeat("aaaaaaaนนนนนนนжжжжжжж물물물물물물물", 3)), true},
		try{"asked to copy", Text{Text: "雨阪ाร세สé🌍️山апа💡사еา東ม雪", Prompt: "Repeat this text: 雨阪ाร세สé🌍️山апа💡사еา東ม雪"}, false},
		try{"the baseline does it too", beside(salad, salad), false},
	)
	tryTags(t, "script-salad", salad)
}

func TestScriptOf(t *testing.T) {
	for r, want := range map[rune]string{
		'a': "Latin", 'é': "Latin", 'ж': "Cyrillic", '水': "Han", 'の': "Han", 'カ': "Han", '물': "Hangul",
		'ไ': "Thai", 'ن': "Arabic", 'ह': "Devanagari", 'ν': "Greek", '1': "", '!': "", ' ': "", '🎉': "",
	} {
		if got := scriptOf(r).String(); got != want {
			t.Errorf("%c: got %q, want %q", r, got, want)
		}
	}
}
