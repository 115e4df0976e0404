package probe

import (
	"fmt"
	"strings"
	"unicode"

	"touchstone/harness/fixture"
)

// wanted describes what an anchor expects.
func wanted(e fixture.Expect) string {
	switch {
	case e.Answer != "":
		return excerpt(e.Answer)
	case e.Copy != "":
		return fmt.Sprintf("contains %q", excerpt(e.Copy))
	case len(e.AnyOf) > 0:
		return "one of: " + strings.Join(e.AnyOf, ", ")
	}
	return "valid " + e.Valid
}

// sameWords is the text's words alone, in lower case, one blank between two.
func sameWords(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	}), " ")
}
