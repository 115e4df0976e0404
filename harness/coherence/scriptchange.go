package coherence

// scriptChange: the answer goes over to another script in the middle of a
// sentence and stays there, though neither the prompt nor its tags ask for it.
// Quotations and translations begin after a colon, quote, bracket or line
// break, and foreign words are short, so both pass. Latin never counts as the
// new script: names and terms stand in Latin everywhere.
var scriptChange = Check{
	Name:   "script-change",
	About:  "the answer goes over to a script that nobody asked for, in mid-sentence and for good",
	Unit:   "letters in the new script",
	Source: "40 letters without it, then 20 of it or more (longer than a foreign name), four fifths of all letters up to the end",
	Exempt: []Tag{TagScriptMixed, TagEncoded, TagRepeat},
	Gross:  true,
	run:    runScriptChange,
}

func runScriptChange(d *doc, _ level) *hit {
	const before, after, share = 40, 20, 0.8
	l := d.letters()
	known := d.expects()
	var seen [256]bool
	for i, x := range l {
		if seen[x.s] {
			continue
		}
		seen[x.s] = true
		if i < before || !x.bare || known[x.s] || x.s == latin() {
			continue
		}
		n := 0 // one count a script, since each begins once
		for _, y := range l[i:] {
			if y.s == x.s {
				n++
			}
		}
		if n >= after && float64(n) >= share*float64(len(l)-i) {
			return &hit{"the script changes in mid-sentence, to " + x.s.String(), float64(n), after, x.at}
		}
	}
	return nil
}
