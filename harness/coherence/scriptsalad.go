package coherence

// scriptSalad: tokens of many scripts side by side, what a model says when its
// weights are misplaced or its logits random (vllm#510, sglang#1434,
// sglang#2354). Only bare switches count, with nothing or blanks between the
// letters: a list of translations has colons, brackets and line breaks there.
var scriptSalad = Check{
	Name:   "script-salad",
	About:  "four scripts or more within 64 letters, switching without punctuation, beyond those of the prompt and its tags",
	Unit:   "switches / letters",
	Source: "reports.md, text rules measured: switch > 0.12 and >= 4 scripts: no good text of 49 flagged",
	Exempt: []Tag{TagScriptMixed, TagEncoded},
	Gross:  true,
	run:    runScriptSalad,
}

func runScriptSalad(d *doc, _ level) *hit {
	const (
		window  = 64
		least   = 16 // letters
		scripts = 4
		limit   = 0.12
	)
	l := d.letters()
	if len(l) < least {
		return nil
	}
	w := min(window, len(l))
	known := d.expects()
	var count [256]int
	kinds, switches := 0, 0
	flip := func(i int) int {
		if i > 0 && l[i].bare && l[i].s != l[i-1].s && !(known[l[i].s] && known[l[i-1].s]) {
			return 1
		}
		return 0
	}
	var best *hit
	for i := range l {
		if count[l[i].s]++; count[l[i].s] == 1 && !known[l[i].s] {
			kinds++
		}
		switches += flip(i)
		if i >= w {
			old := l[i-w].s
			if count[old]--; count[old] == 0 && !known[old] {
				kinds--
			}
			switches -= flip(i - w + 1) // its left neighbour left the window
		} else if i == 0 {
			switches = 0
		}
		if i < w-1 {
			continue
		}
		share := float64(switches) / float64(w)
		if kinds >= scripts && share > limit && (best == nil || share > best.measured) {
			best = &hit{"scripts are mixed at random", share, limit, l[i-w+1].at}
		}
	}
	return best
}
