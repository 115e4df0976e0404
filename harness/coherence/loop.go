package coherence

import "unicode"

// The longest period that loops looks for, in runes: a phrase of a dozen
// words. Longer cycles are repeated-text's matter.
const maxPeriod = 64

// loop is a stretch that repeats itself with a fixed period.
type loop struct {
	start, length, period int // runes
}

func (l loop) reps() float64 {
	if l.period == 0 {
		return 0
	}
	return float64(l.length) / float64(l.period)
}

// loops returns the loop with most repetitions among those that reach the end
// of the text (a last partial period and what fits into 64 runes may follow,
// an end token say), and among those anywhere. Loops of one character and of
// ruler characters alone are left out; the run checks see those.
func (d *doc) loops() (tail, body loop) {
	if d.loopsDone {
		return d.tail, d.body
	}
	d.loopsDone = true
	end := d.end()
	r := d.r[:end]
	for p := 2; p <= maxPeriod && p < end; p++ {
		// Six repetitions are 5p agreements in a row, which no grid of 5p misses.
		step := 5 * p
		for at := p + step - 1; at < end; {
			if r[at] != r[at-p] {
				at += step
				continue
			}
			from := at
			for from > p && from > at-step && r[from-1] == r[from-1-p] {
				from--
			}
			to := at + 1
			for to < end && r[to] == r[to-p] {
				to++
			}
			if to-from >= step {
				d.keep(loop{start: from - p, length: to - from + p, period: p}, end)
			}
			at = to + step
		}
	}
	return d.tail, d.body
}

// keep notes a loop when it beats the ones before. Periods come in rising
// order, so a loop is counted by its shortest period.
func (d *doc) keep(l loop, end int) {
	if !d.speaks(d.r[l.start : l.start+l.period]) {
		return
	}
	if l.reps() > d.body.reps() {
		d.body = l
	}
	if end-(l.start+l.length) <= maxPeriod && l.reps() > d.tail.reps() {
		d.tail = l
	}
}

// speaks says whether the unit of a loop has two different characters, one of
// them neither blank nor ruler.
func (d *doc) speaks(unit []rune) bool {
	other, two := false, false
	for _, r := range unit {
		two = two || r != unit[0]
		other = other || !ruler(r) && !unicode.IsSpace(r)
	}
	return other && two
}
