package coherence

import "strings"

// fragments: pieces of words chained by hyphens, with pieces coming again
// ("Orrgillies-illies-ern-illies-er"), what some models say when attention
// sees too little.
var fragments = Check{
	Name:   "fragments",
	About:  "several chains of five or more word pieces joined by hyphens, with pieces repeated",
	Unit:   "chains",
	Source: "English compounds end at four parts (jack-of-all-trades); one longer chain can be a joke, two with repeated, different parts that fill a third of the answer are not",
	Exempt: []Tag{TagCode, TagEncoded, TagNotation, TagRepeat, TagRun, TagURL, TagVerse},
	Gross:  true,
	run:    runFragments,
}

func runFragments(d *doc, _ level) *hit {
	const (
		limit = 2
		parts = 5
		share = 3 // a third of the text; names of commands and files are less
	)
	w := d.split()
	chains, first, runes := 0, -1, 0
	for i := 0; i < len(w); {
		j := i + 1
		for j < len(w) && w[j].start == w[j-1].end+1 && d.r[w[j-1].end] == '-' {
			j++
		}
		if j-i >= parts && halting(w[i:j]) {
			runes += w[j-1].end - w[i].start
			if chains++; first < 0 {
				first = w[i].start
			}
		}
		i = j
	}
	if chains < limit || share*runes < d.end() {
		return nil
	}
	return &hit{"word pieces are chained by hyphens", float64(chains), limit, first}
}

// halting says whether a chain holds different pieces, one of them twice.
func halting(w []word) bool {
	seen := map[string]int{}
	for _, x := range w {
		seen[strings.TrimSpace(x.s)]++
	}
	return len(seen) > 2 && len(seen) < len(w)
}
