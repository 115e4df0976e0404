package coherence

import "unicode"

// blankFlood: a hole of blanks or empty lines inside or after the text.
var blankFlood = Check{
	Name:   "blank-flood",
	About:  "200 blanks in a row or more, or 100 empty lines",
	Unit:   "blanks (line breaks when the limit is 100)",
	Source: "reports.md, lesson 4: 100+ newlines, 200+ blanks; vllm#55313 wrote 250,000 blanks after 372 useful characters",
	Exempt: []Tag{TagRun},
	Gross:  true,
	run:    runBlankFlood,
}

func runBlankFlood(d *doc, _ level) *hit {
	const blanks, lines = 200, 100
	for i := 0; i < len(d.r); {
		if !unicode.IsSpace(d.r[i]) {
			i++
			continue
		}
		j, breaks := i, 0
		for j < len(d.r) && unicode.IsSpace(d.r[j]) {
			if d.r[j] == '\n' {
				breaks++
			}
			j++
		}
		if breaks >= lines {
			return &hit{"empty lines flood the answer", float64(breaks), lines, i}
		}
		if j-i >= blanks {
			return &hit{"blanks flood the answer", float64(j - i), blanks, i}
		}
		i = j
	}
	return nil
}
