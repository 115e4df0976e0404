package coherence

// blankTail: the answer ends in blanks, as when a grammar goes on after the
// answer, or when a broken model has nothing but line breaks left to say.
var blankTail = Check{
	Name:   "blank-tail",
	About:  "the answer ends in more than 32 blanks or line breaks",
	Unit:   "blanks",
	Source: "reports.md R14: trailing whitespace <= 32; vllm#55313, vllm#38696",
	Exempt: []Tag{TagRun},
	Gross:  true,
	run:    runBlankTail,
}

func runBlankTail(d *doc, _ level) *hit {
	const limit = 32
	e := d.end()
	if n := len(d.r) - e; n > limit && e > 0 {
		return &hit{"the answer ends in blanks", float64(n), limit, e}
	}
	return nil
}
