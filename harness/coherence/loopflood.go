package coherence

// loopFlood: a loop that code, tables or data don't excuse.
var loopFlood = Check{
	Name:   "loop-flood",
	About:  "the answer ends in a loop of 32 repetitions or more, over 200 characters or more",
	Unit:   "repetitions",
	Source: "correctness.md §1.5: a run of 32 equal tokens is gross at any level",
	Exempt: []Tag{TagArt, TagRepeat, TagRun},
	Gross:  true,
	run:    runLoopFlood,
}

func runLoopFlood(d *doc, _ level) *hit {
	const reps, runes = 32, 200
	if tail, _ := d.loops(); tail.reps() >= reps && tail.length >= runes {
		return &hit{"a loop floods the answer", tail.reps(), reps, tail.start}
	}
	return nil
}
