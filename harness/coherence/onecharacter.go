package coherence

import "unicode"

// oneCharacter: the whole answer is one character over and over, whichever it
// is. Both founding faults on a real engine: 40 × '-' and 40 × '/'. A run of
// these inside a table or comment is fine, so char-run leaves them alone.
var oneCharacter = Check{
	Name:   "one-character",
	About:  "the whole answer is one character again and again",
	Unit:   "repetitions",
	Source: "half the run of 32 equal tokens that correctness.md §1.5 calls gross, since nothing else is said",
	Exempt: []Tag{TagRun},
	Gross:  true,
	run:    runOneCharacter,
}

func runOneCharacter(d *doc, _ level) *hit {
	const limit = 16
	var only rune
	n, first := 0, 0
	for i, r := range d.r {
		switch {
		case unicode.IsSpace(r):
		case n == 0:
			only, n, first = r, 1, i
		case r != only:
			return nil
		default:
			n++
		}
	}
	if n < limit {
		return nil
	}
	return &hit{"the whole answer is one character", float64(n), limit, first}
}
