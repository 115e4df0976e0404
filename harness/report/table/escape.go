package table

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with everything that has no shape of its own made visible,
// so that a model's text cannot move the cursor, change colours, set the
// window's title, reverse the reading direction or hide something: ASCII
// control characters as their pictures (ESC is ␛, a tab ␉), other control and
// format characters (bidirectional marks, zero-width spaces) as \u202e, bytes
// that are no UTF-8 as \xff. Line feeds and spaces stay.
func Visible(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r) // Control Pictures
		case r == 0x7f:
			b.WriteRune('\u2421')
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\n' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// escapeMarkdown makes s a cell that shows s literally: nothing in it ends the
// cell or the row (tablewriter's renderer leaves both to us), or becomes
// emphasis, code, a link, an image, a formula or HTML. An underscore within a
// word is no markup and stays, so that names remain readable.
func escapeMarkdown(s string) string {
	s = Visible(s)
	if !strings.ContainsAny(s, "\\|`*_[]<>&~$\n") {
		return s
	}
	rs := []rune(s)
	word := func(i int) bool {
		return i >= 0 && i < len(rs) && (unicode.IsLetter(rs[i]) || unicode.IsDigit(rs[i]))
	}
	var b strings.Builder
	for i, r := range rs {
		switch {
		case r == '\n':
			b.WriteString("<br>")
			continue
		case r == '_' && word(i-1) && word(i+1):
		case strings.ContainsRune("\\|`*_[]<>&~$", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
