package coherence

// longestRun finds the longest run that reaches the limit of its character; a
// limit of 0 leaves a character out.
func longestRun(d *doc, summary string, limit func(rune) int) *hit {
	var best *hit
	for i := 0; i < len(d.r); {
		j := i + 1
		for j < len(d.r) && d.r[j] == d.r[i] {
			j++
		}
		if l := limit(d.r[i]); l > 0 && j-i >= l && (best == nil || float64(j-i) > best.measured) {
			best = &hit{summary, float64(j - i), float64(l), i}
		}
		i = j
	}
	return best
}
