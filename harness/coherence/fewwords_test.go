package coherence

import (
	"strings"
	"testing"
)

func TestFewWords(t *testing.T) {
	// A loop whose order varies, so that it has no period: 4 words in 64.
	var b strings.Builder
	state := uint32(1)
	for range 80 {
		state = state*1664525 + 1013904223
		b.WriteString([]string{"zebra ", "hen ", "lot ", "pet "}[state>>30])
	}
	loose := strings.Repeat("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen ", 5)
	tryCheck(t, "few-words",
		try{"four words", said(b.String()), true},
		try{"at the end of a good text", said(prose + " " + b.String()), true},
		try{"prose", said(prose + " " + prose), false},
		try{"63 words", said(strings.Repeat("zebra hen lot ", 21)), false},
		try{"12 of 64", said(cycle(12, 64)), true},
		try{"13 of 64", said(cycle(13, 64)), false},
		try{"13 of 64, beside a baseline", beside(cycle(13, 64), prose), true},
		try{"20 of 64, beside a baseline", beside(cycle(20, 64), prose), false},
		try{"records", said(strings.Repeat("id=1 ok=true; ", 60)), false},
		try{"16 words, alone", said(loose), false},
		try{"16 words, beside a baseline", beside(loose, prose), true},
		try{"the baseline has as few", beside(loose, loose), false},
		try{"gross beside a mild baseline", beside(b.String(), loose), true},
	)
	tryTags(t, "few-words", b.String())
}
