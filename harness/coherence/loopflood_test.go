package coherence

import (
	"strings"
	"testing"
)

func TestLoopFlood(t *testing.T) {
	flood := "x = 1\n" + strings.Repeat("of the ", 40)
	tryCheck(t, "loop-flood",
		try{"code is no excuse", Text{Text: flood, Tags: []string{"code"}}, true},
		try{"20 rows of XML", said(strings.Repeat("<row><c>1</c></row>\n", 20)), false},
		try{"zeros of an array", said("{" + strings.Repeat("0,", 60) + "}"), false},
	)
	tryTags(t, "loop-flood", flood)
}
