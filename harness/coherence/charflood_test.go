package coherence

import (
	"strings"
	"testing"
)

func TestCharFlood(t *testing.T) {
	flood := "ok " + strings.Repeat("!", 200)
	tryCheck(t, "char-flood",
		try{"a sign", said(flood), true},
		try{"a digit", said("1" + strings.Repeat("0", 200)), true},
		try{"a ruler", said("+" + strings.Repeat("-", 400)), true},
		try{"a wide table", said("+" + strings.Repeat("-", 271) + "+"), false},
		try{"just under", said("ok " + strings.Repeat("!", 199)), false},
		try{"blanks", said("a" + strings.Repeat(" ", 500) + "b"), false},
	)
	tryTags(t, "char-flood", flood)
}
