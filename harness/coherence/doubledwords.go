package coherence

// doubledWords: every token comes twice ("The The quick quick brown brown"), as
// when a stream's text is appended at two places (vllm#23312).
var doubledWords = Check{
	Name:   "doubled-words",
	About:  "a quarter of the words or more repeat the word before",
	Unit:   "share of words",
	Source: "running text doubles under 1 % of its words (\"had had\"); doubled tokens give 0.5, half of that leaves room for words of several tokens",
	Exempt: []Tag{TagCode, TagDigits, TagEmoji, TagEncoded, TagNotation, TagRepeat, TagRun, TagVerse},
	Gross:  true,
	run:    runDoubledWords,
}

func runDoubledWords(d *doc, _ level) *hit {
	const limit, words = 0.25, 12
	w := d.split()
	if len(w) < words || d.prose(w[0].start, w[len(w)-1].end) < proseLimit {
		return nil
	}
	n, first := 0, -1
	for i := 1; i < len(w); i++ {
		if w[i].id == w[i-1].id && !d.apart(w[i-1], w[i]) {
			n++
			if first < 0 {
				first = w[i-1].start
			}
		}
	}
	if share := float64(n) / float64(len(w)-1); share >= limit {
		return &hit{"the words come twice", share, limit, first}
	}
	return nil
}
