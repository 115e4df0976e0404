package coherence

import (
	"strings"
	"testing"
)

func TestRepeatedText(t *testing.T) {
	mild := prose + " " + prose[:180]
	tryCheck(t, "repeated-text",
		try{"three times", said(prose + " " + prose + "\n\n" + prose), true},
		try{"in Chinese", said(strings.Repeat("北京是中国的首都，位于华北平原的北部。这座城市有三千多年的历史，拥有故宫、天坛和颐和园等名胜，每年都有许多游客前来参观，也有许多学者来研究它。", 5)), true},
		try{"once", said(prose), false},
		try{"a quotation", said(mild), false},
		try{"a third, beside a baseline", beside(mild, prose), true},
		try{"the baseline does it too", beside(mild, mild), false},
		try{"short", said("So x=30. Let me check. So x=30. Let me check. So x=30."), false},
		try{"records", said(strings.Repeat(`{"InputToken": "Next", "LimitKey": 10, "MoreResults": `, 3) + `{"Other": {"Name": 4, "Kind": 5, "Size": 6, "Area": 7, "Rate": 8, "Time": 9, "Date": 10}}`), false},
	)
	tryTags(t, "repeated-text", strings.Repeat(prose+" ", 3))
}
