package coherence

import (
	"strings"
	"testing"
)

func TestBlankFlood(t *testing.T) {
	tryCheck(t, "blank-flood",
		try{"line breaks", said("a" + strings.Repeat("\n", 100) + "b"), true},
		try{"line breaks with blanks", said("a" + strings.Repeat(" \n", 100) + "b"), true},
		try{"blanks", said(`{"a": "x` + strings.Repeat(" ", 200)), true},
		try{"a wide column", said("a" + strings.Repeat(" ", 120) + "b"), false},
		try{"few line breaks", said("a" + strings.Repeat("\n", 99) + "b"), false},
	)
	tryTags(t, "blank-flood", `{"a": "x`+strings.Repeat(" ", 200))
}
