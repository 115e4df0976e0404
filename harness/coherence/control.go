package coherence

import "unicode"

// control: characters that no keyboard types. Public report: NUL characters
// alone (1CatAI/1Cat-vLLM#23).
var control = Check{
	Name:   "control",
	About:  "control characters other than tab, line feed, carriage return and form feed, and the ESC [ of terminal colours",
	Unit:   "control characters",
	Source: "Unicode category Cc; measured: 1 of 43 bad texts, 0 of 49 good ones",
	Exempt: []Tag{TagSpecial},
	Gross:  true,
	run:    runControl,
}

func runControl(d *doc, _ level) *hit {
	const esc = 0x1B
	n, first := 0, -1
	for i, r := range d.r {
		if !unicode.Is(unicode.Cc, r) || r == '\t' || r == '\n' || r == '\r' || r == '\f' || r == esc && i+1 < len(d.r) && d.r[i+1] == '[' {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	if n == 0 {
		return nil
	}
	return &hit{"control characters stand in the answer", float64(n), 1, first}
}
