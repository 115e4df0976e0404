package coherence

import "unicode"

// replacement: U+FFFD stands where bytes made no character: a detokeniser cut
// characters apart or dropped bytes (llama.cpp#4036, llama.cpp#28926), or the
// model's bytes are noise. An answer that a length limit ends inside a
// character may end in up to three of them; those are not counted.
var replacement = Check{
	Name:   "replacement",
	About:  "U+FFFD inside a word, or several of them",
	Unit:   "replacement characters",
	Source: "reports.md: any U+FFFD caught 2 of 43 bad texts and flagged one good one, a text about the character itself, which stands apart from words",
	Exempt: []Tag{TagSpecial},
	Gross:  true,
	run:    runReplacement,
}

func runReplacement(d *doc, l level) *hit {
	const cut = 3 // a character of four bytes, the last one missing
	several := 5  // correctness.md §1.5: U+FFFD >= 5 where before had none
	if l == fine {
		several = 1
	}
	end := d.end()
	for n := 0; n < cut && end > 0 && d.r[end-1] == unicode.ReplacementChar; n++ {
		end--
	}
	if end < len(d.r) && end > 0 && d.r[end-1] == unicode.ReplacementChar {
		end = d.end() // a longer run at the end is no cut
	}
	n, first, inWord := 0, -1, -1
	for i, r := range d.r[:end] {
		if r != unicode.ReplacementChar {
			continue
		}
		n++
		if first < 0 {
			first = i
		}
		if inWord < 0 && (i > 0 && unicode.IsLetter(d.r[i-1]) || i+1 < len(d.r) && unicode.IsLetter(d.r[i+1])) {
			inWord = i
		}
	}
	switch {
	case inWord >= 0:
		return &hit{"a character inside a word is broken", float64(n), 1, inWord}
	case n >= several:
		return &hit{"characters are broken", float64(n), float64(several), first}
	}
	return nil
}
