package coherence

// charFlood: beyond any ruler, mask or drawing, so no tag but TagRun excuses it.
var charFlood = Check{
	Name:   "char-flood",
	About:  "any visible character 200 times in a row or more, a ruler character 400 times",
	Unit:   "repetitions",
	Source: "wider than a drawing: terminals are 80 to 132 columns, and reports.md puts gross blank runs at 200; rulers of wide text tables reach 271 in the wild",
	Exempt: []Tag{TagRun},
	Gross:  true,
	run:    runCharFlood,
}

func runCharFlood(d *doc, _ level) *hit {
	const limit, wide = 200, 400
	return longestRun(d, "one character floods the answer", func(r rune) int {
		switch {
		case !visible(r):
			return 0
		case ruler(r):
			return wide
		}
		return limit
	})
}
