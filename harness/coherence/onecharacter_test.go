package coherence

import (
	"strings"
	"testing"
)

func TestOneCharacter(t *testing.T) {
	tryCheck(t, "one-character",
		try{"both founding faults on vLLM", said(strings.Repeat("-", 40)), true},
		try{"the other", said(strings.Repeat("/", 40)), true},
		try{"with blanks", said(strings.Repeat("0 ", 16)), true},
		try{"a rare character", said(strings.Repeat("郁", 16)), true},
		try{"just under", said(strings.Repeat("-", 15)), false},
		try{"a ruler under a heading", said("Title\n" + strings.Repeat("-", 40)), false},
		try{"a letter", said("B"), false},
		try{"the baseline draws it too", beside(strings.Repeat("-", 40), strings.Repeat("=", 30)), false},
	)
	tryTags(t, "one-character", strings.Repeat("-", 40))
}
