package coherence

// scriptDrift: the answer is in another script than the baseline's answer to
// the same prompt, wherever it changed.
var scriptDrift = Check{
	Name:   "script-drift",
	About:  "most of the answer is in a script that the baseline's answer hardly uses",
	Unit:   "share of letters",
	Source: "correctness.md §1.5: a drop of the ASCII share by more than 0.4 is gross; here above 0.5 where the baseline has under 0.1",
	Exempt: []Tag{TagScriptMixed, TagEncoded},
	run:    runScriptDrift,
}

func runScriptDrift(d *doc, _ level) *hit {
	const most, hardly, least = 0.5, 0.1, 20
	if d.base == nil {
		return nil // the baseline's own answer cannot drift
	}
	now, then := d.letters(), d.base.letters()
	if len(now) < least || len(then) < least {
		return nil
	}
	count := func(l []letter) map[script]int {
		m := map[script]int{}
		for _, x := range l {
			m[x.s]++
		}
		return m
	}
	was := count(then)
	for s, n := range count(now) {
		share := float64(n) / float64(len(now))
		if share <= most || float64(was[s]) >= hardly*float64(len(then)) {
			continue
		}
		for _, x := range now {
			if x.s == s {
				return &hit{"the answer is in another script than the baseline's: " + s.String(), share, most, x.at}
			}
		}
	}
	return nil
}
