package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// MinTrend is how many values a trend takes at least: below it the normal
// approximation of the test statistic is too coarse (Gilbert, Statistical
// Methods for Environmental Pollution Monitoring, 1987, §16.4).
const MinTrend = 10

// Trend says whether values in the order of time rise or fall.
type Trend struct {
	Slope float64 `json:"slope"` // of one value to the next: the median of the slopes of all pairs (Theil–Sen)
	P     float64 `json:"p"`     // two-sided, of the Mann–Kendall test
}

// FindTrend tests values in the order of time by Mann and Kendall: S counts
// pairs that rise minus pairs that fall, with the variance corrected for ties
// and S for continuity. It is nil for fewer than MinTrend values. The test
// takes the values for independent, so a step that outlasts one of them looks
// like a trend: let each stand for a time longer than what they share.
func FindTrend(values []float64) *Trend {
	n := len(values)
	if n < MinTrend {
		return nil
	}
	s := 0.0
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range values {
		for j := i + 1; j < n; j++ {
			switch d := values[j] - values[i]; {
			case d > 0:
				s++
			case d < 0:
				s--
			}
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
		}
	}
	slices.Sort(slopes)
	t := &Trend{Slope: Quantile(slopes, 0.5), P: 1}
	if sd := math.Sqrt(kendallVariance(values)); sd > 0 {
		z := max(0, math.Abs(s)-1) / sd
		t.P = 2 * stats.StdNormal.CDF(-z)
	}
	return t
}

// kendallVariance is the variance of S where nothing rises or falls: each run
// of t equal values takes its own part away.
func kendallVariance(values []float64) float64 {
	part := func(n int) float64 { return float64(n) * float64(n-1) * float64(2*n+5) / 18 }
	v := part(len(values))
	sorted := slices.Sorted(slices.Values(values))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		v -= part(j - i)
		i = j
	}
	return v
}
