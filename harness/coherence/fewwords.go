package coherence

// fewWords: a stretch of running text that gets by with a handful of words.
// It sees loops whose order varies ("zebra hen hen zebra zebra hen").
var fewWords = Check{
	Name:   "few-words",
	About:  "64 words of running text with few different ones",
	Unit:   "different words / words",
	Source: "distinct-1 (correctness.md §1.5) over 64 words: prose has 0.6 to 0.8, refrains 0.3 to 0.5; alone 0.2, beside a baseline 0.3",
	Exempt: []Tag{TagCode, TagDigits, TagEmoji, TagEncoded, TagJSON, TagList, TagLog, TagMarkup, TagNotation, TagRepeat, TagRun, TagTable, TagVerse},
	Gross:  true,
	run:    runFewWords,
}

func runFewWords(d *doc, l level) *hit {
	const window = 64
	limit := 0.2
	if l == fine {
		limit = 0.3
	}
	w := d.split()
	count := map[int32]int{}
	var best *hit
	for i := range w {
		count[w[i].id]++
		if i >= window {
			old := w[i-window].id
			if count[old]--; count[old] == 0 {
				delete(count, old)
			}
		}
		if i < window-1 {
			continue
		}
		share := float64(len(count)) / window
		start := w[i-window+1].start
		if share < limit && (best == nil || share < best.measured) && d.prose(start, w[i].end) >= proseLimit {
			best = &hit{"few different words", share, limit, start}
		}
	}
	return best
}
