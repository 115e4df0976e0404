package coherence

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// excerptRunes bounds an excerpt, in runes after escaping.
const excerptRunes = 80

// excerpt returns the beginning of s with what does not show escaped as Go
// does it (\n, \x00, \u200b). Blanks and quotes stay as they are.
func excerpt(s string) string {
	var b strings.Builder
	n := 0
	for len(s) > 0 {
		r, width := utf8.DecodeRuneInString(s)
		piece := string(r)
		if !strconv.IsGraphic(r) || r == '\u2028' || r == '\u2029' {
			q := strconv.QuoteRune(r)
			piece = q[1 : len(q)-1]
		}
		s = s[width:]
		size := utf8.RuneCountInString(piece)
		if n+size > excerptRunes || n+size == excerptRunes && s != "" {
			return b.String() + "…"
		}
		b.WriteString(piece)
		n += size
	}
	return b.String()
}
