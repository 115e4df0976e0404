package coherence

import (
	"strings"
	"testing"
)

func TestDoubledWords(t *testing.T) {
	var b strings.Builder
	for _, w := range strings.Fields(prose) {
		b.WriteString(w + " " + w + " ")
	}
	tryCheck(t, "doubled-words",
		try{"every word twice", said(b.String()), true},
		try{"prose", said(prose), false},
		try{"a few doubles", said("He had had a bad bad day, and that that was, was all there is to say about it."), false},
		try{"3 of 11 steps, 12 words", said("one one two two three three four five six seven eight nine"), true},
		try{"2 of 11 steps", said("one one two two three four five six seven eight nine ten"), false},
		try{"11 words", said("one one two two three three four five six seven eight"), false},
		try{"short", said("No no. Yes yes."), false},
		try{"the baseline does it too", beside(b.String(), b.String()), false},
	)
	tryTags(t, "doubled-words", b.String())
}
