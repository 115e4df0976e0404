package probe

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// number prints a measured value: whole numbers whole, others to four
// significant digits.
func number(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func share(n, of int) string {
	if of == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.0f %%)", n, of, 100*float64(n)/float64(of))
}

// excerptRunes is what fits on a line of a terminal beside the rest.
const excerptRunes = 100

// excerpt shows the beginning of a model's text on one line, with control
// characters made visible, so that it can't play tricks on a terminal.
func excerpt(s string) string {
	if s == "" {
		return "(empty text)"
	}
	var b strings.Builder
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if n == excerptRunes {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n':
			b.WriteRune('⏎')
		case !unicode.IsPrint(r) || r == utf8.RuneError && size == 1:
			b.WriteString(strings.Trim(strconv.QuoteToASCII(s[:size]), `"`))
		default:
			b.WriteRune(r)
		}
		s = s[size:]
		n++
	}
	return b.String()
}

func median(v []float64) float64 {
	switch n := len(v); {
	case n == 0:
		return 0
	case n%2 == 1:
		return v[n/2]
	default:
		return (v[n/2-1] + v[n/2]) / 2
	}
}
