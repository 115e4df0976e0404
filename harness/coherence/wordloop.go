package coherence

// wordLoop: one word again and again, with whatever between ("lock, lock lock.
// Lock"), which period-loop does not see when the separators vary.
var wordLoop = Check{
	Name:   "word-loop",
	About:  "one word ten times in a row or more",
	Unit:   "repetitions",
	Source: "emphasis and laughter end at about six (\"very very\", \"ha ha ha\"); correctness.md §1.5 calls 32 equal tokens gross",
	Exempt: []Tag{TagArt, TagEmoji, TagEncoded, TagRepeat, TagRun, TagVerse},
	Gross:  true,
	run:    runWordLoop,
}

func runWordLoop(d *doc, _ level) *hit {
	const limit = 10
	var best *hit
	w := d.split()
	for i := 0; i < len(w); {
		j := i + 1
		for j < len(w) && w[j].id == w[i].id && !d.apart(w[j-1], w[j]) {
			j++
		}
		// One-letter words are variables, list letters and DNA.
		if n := j - i; n >= limit && w[i].end-w[i].start > 1 && (best == nil || float64(n) > best.measured) {
			best = &hit{"one word is repeated", float64(n), limit, w[i].start}
		}
		i = j
	}
	return best
}
