package coherence

import (
	"strings"
	"testing"
)

func TestBlankTail(t *testing.T) {
	tail := "{}" + strings.Repeat("\n", 33)
	tryCheck(t, "blank-tail",
		try{"line breaks", said(tail), true},
		try{"blanks", said("Done." + strings.Repeat(" ", 40)), true},
		try{"just under", said("{}" + strings.Repeat("\n", 32)), false},
		try{"nothing else: empty's matter", said(strings.Repeat("\n", 40)), false},
		try{"the baseline does it too", beside(tail, "[]"+strings.Repeat(" ", 50)), false},
	)
	tryTags(t, "blank-tail", tail)
}
