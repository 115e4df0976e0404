package coherence

import "testing"

func TestScriptDrift(t *testing.T) {
	const (
		chinese = "北京是中国的首都，位于华北平原的北部。这座城市有三千多年的历史"
		english = "Beijing is the capital of China and lies in the north."
	)
	tryCheck(t, "script-drift",
		try{"Chinese became English", beside(english, chinese), true},
		try{"English became Chinese", beside(chinese, english), true},
		try{"no baseline", said(chinese), false},
		try{"both English", beside(english, prose), false},
		try{"the baseline uses both", beside(english, english+chinese), false},
		try{"over a half", beside("Beijing is the capita 北京是中国的首都位于华北平原", chinese), true},
		try{"under a half", beside("Beijing is t 北京是中国的首都位于华北平原", chinese), false},
		try{"a few letters of it before", beside(english, chinese+" abcd"), false},
		try{"under a tenth of it before", beside(english, chinese+" abc"), true},
		try{"19 letters", beside("Beijing is the capital", chinese), false},
		try{"20 letters", beside("Beijing is the capital of", chinese), true},
		try{"too short to say", beside("Beijing", chinese), false},
	)
	for _, tag := range []string{"script:mixed", "encoded"} {
		if f := find(Run(Text{Text: english, Baseline: ptr(chinese), Tags: []string{tag}}), "script-drift"); f != nil {
			t.Errorf("tag %s: got %+v", tag, f)
		}
	}
}

func ptr(s string) *string { return &s }
