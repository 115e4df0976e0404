package coherence

import (
	"strings"
	"testing"
)

func TestCharRun(t *testing.T) {
	bang := "Os" + strings.Repeat("!", 16)
	tryCheck(t, "char-run",
		try{"token 0 of NaN logits", said(bang), true},
		try{"in the middle", said("a" + strings.Repeat("<", 20) + " b"), true},
		try{"code is no excuse", Text{Text: "x = 1\n" + strings.Repeat("!", 200), Tags: []string{"code"}}, true},
		try{"joy", said("Happy birthday!!!!!!!! We did it!!!!"), false},
		try{"a ruler", said("Total\n" + strings.Repeat("=", 72) + "\n12"), false},
		try{"a comment bar", said(strings.Repeat("/", 78) + "\n// main"), false},
		try{"a masked key", said("sk-" + strings.Repeat("x", 40)), false},
		try{"the zero address", said("0x" + strings.Repeat("0", 64)), false},
		try{"a digit for ever", said("The answer is " + strings.Repeat("4", 65)), true},
		try{"all bits set", said("0x" + strings.Repeat("f", 16)), false},
		try{"the baseline does it too", beside(bang, "Oslo"+strings.Repeat("!", 20)), false},
		try{"the baseline does not", beside(bang, "Oslo!"), true},
	)
	tryTags(t, "char-run", bang)
	f := find(Run(said("é"+bang)), "char-run")
	if f == nil || f.Measured != 16 || f.Limit != 16 || f.Offset != len("éOs") {
		t.Errorf("got %+v, want 16 from byte 4", f)
	}
}
