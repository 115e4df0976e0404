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
		try{"passages of 60 characters, far apart", said(prose[:60] + "1" + prose[:60] + "2" + prose[:60] + "3" + prose[:60] + "4" + prose[:60] + "5" + prose[:60]), true},
		try{"passages of 49 characters", said(prose[:49] + "1" + prose[:49] + "2" + prose[:49] + "3" + prose[:49] + "4" + prose[:49] + "5" + prose[:49] + "6" + prose[:49]), false},
		try{"a quarter, beside a baseline", beside(prose+" "+prose[:130], prose), false},
		try{"records, word for word", said(strings.Repeat("{\"id\": 7, \"ok\": [1, 2, 3], \"at\": {\"x\": 1, \"y\": 2}, \"kind\": \"a\"}\n", 8)), true},
		try{"299 characters", said(strings.Repeat(prose[:60], 5)[:299]), false},
		try{"300 characters", said(strings.Repeat(prose[:60], 5)), true},
		try{"short", said("So x=30. Let me check. So x=30. Let me check. So x=30."), false},
		try{"records", said(strings.Repeat(`{"InputToken": "Next", "LimitKey": 10, "MoreResults": `, 3) + `{"Other": {"Name": 4, "Kind": 5, "Size": 6, "Area": 7, "Rate": 8, "Time": 9, "Date": 10}}`), false},
	)
	tryTags(t, "repeated-text", strings.Repeat(prose+" ", 3))
}
