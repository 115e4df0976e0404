package coherence

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"Oslo \"x\" é":                   "Oslo \"x\" é",
		"a\nb\t\x00\u200b":               `a\nb\t\x00\u200b`,
		"\xff":                           "\ufffd",
		strings.Repeat("x", 80):          strings.Repeat("x", 80),
		strings.Repeat("x", 81):          strings.Repeat("x", 79) + "…",
		strings.Repeat("x", 78) + "\x00": strings.Repeat("x", 78) + "…",
	} {
		if got := excerpt(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if n := utf8.RuneCountInString(excerpt(in)); n > excerptRunes {
			t.Errorf("%q: %d runes", in, n)
		}
	}
}
