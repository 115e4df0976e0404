package coherence

import (
	"strings"
	"testing"
)

func TestWordLoop(t *testing.T) {
	loop := "Then lock, lock lock. Lock lock; lock lock lock, LOCK lock"
	tryCheck(t, "word-loop",
		try{"with signs between", said(loop), true},
		try{"in Cyrillic", said(strings.Repeat("вода ", 10)), true},
		try{"nine times", said(strings.Repeat("вода ", 9)), false},
		try{"emphasis", said("It is very, very, very, very big. No no no no!"), false},
		try{"numbers between", said(strings.Repeat("Step 1\n", 12)), false},
		try{"lines of a test", said(strings.Repeat("sqrt 0.5 -> ok\n", 12)), false},
		try{"the baseline does it too", beside(loop, strings.Repeat("hen ", 12)), false},
	)
	tryTags(t, "word-loop", loop)
}
