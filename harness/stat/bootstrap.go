package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// resamples of a bootstrap: each end of a 95 % interval then rests on 50.
const resamples = 1999

// bootstrapSeed makes an interval the same whenever a run is judged again.
const bootstrapSeed = 1

// BootstrapT returns the percentile-t interval of the mean: the distribution
// of (mean*−mean)/se* over samples drawn with replacement takes the place of
// Student's (Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
// §12.5). It follows a skewed distribution, which Student's t does not; BCa
// was rejected because it covers too little with ten values. Nil for fewer than
// five values, and where all are equal: they say nothing about a tail.
func BootstrapT(xs []float64, confidence float64) *Interval {
	mustBeShare(confidence)
	n := len(xs)
	mean, se := stats.Mean(xs), stats.StdDev(xs)/math.Sqrt(float64(n))
	if n < 5 || se == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(n)))
	ts := make([]float64, 0, resamples)
	draw := make([]float64, n)
	for range resamples {
		for i := range draw {
			draw[i] = xs[rng.IntN(n)]
		}
		// A draw of one value over and over has no spread; its t is infinite.
		ts = append(ts, (stats.Mean(draw)-mean)/(stats.StdDev(draw)/math.Sqrt(float64(n))))
	}
	ts = slices.DeleteFunc(ts, math.IsNaN)
	slices.Sort(ts)
	tail := (1 - confidence) / 2
	lo, hi := mean-Quantile(ts, 1-tail)*se, mean-Quantile(ts, tail)*se
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return nil
	}
	return &Interval{Lo: lo, Hi: hi, Confidence: confidence}
}
