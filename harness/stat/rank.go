package stat

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
)

// Interval is a confidence interval. Its level is the one that was reached: at
// least the one asked for where the method is exact.
type Interval struct {
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
}

// HodgesLehmann returns the centre of a sample: the median of its Walsh
// averages (x[i]+x[j])/2, i ≤ j (Hodges and Lehmann 1963). One wild value in
// four doesn't move it far, and for normal values it is 95 % as sharp as the
// mean. It is NaN where there are no values.
func HodgesLehmann(xs []float64) float64 { return Quantile(walsh(xs), 0.5) }

// walsh returns the averages of all pairs, each value with itself too, in
// ascending order.
func walsh(xs []float64) []float64 {
	out := make([]float64, 0, len(xs)*(len(xs)+1)/2)
	for i, x := range xs {
		for _, y := range xs[i:] {
			out = append(out, (x+y)/2)
		}
	}
	slices.Sort(out)
	return out
}

// Shift returns how far b lies above a: the median of all differences
// b[j]−a[i], the two-sample estimate of Hodges and Lehmann. It is NaN where a
// side is empty.
func Shift(a, b []float64) float64 { return Quantile(differences(a, b), 0.5) }

func differences(a, b []float64) []float64 {
	out := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, y-x)
		}
	}
	slices.Sort(out)
	return out
}

// SignedRank returns the interval for the centre of a symmetric distribution
// that inverts Wilcoxon's signed-rank test, with the exact distribution of its
// statistic: from the k-th smallest Walsh average to the k-th largest
// (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014,
// §3.3). It is nil where so few values never reach the confidence: n values
// reach 1−2¹⁻ⁿ at most, so 95 % takes six and 99 % eight.
func SignedRank(xs []float64, confidence float64) *Interval {
	mustBeShare(confidence)
	cdf := signedRankCDF(len(xs))
	k := sort.Search(len(cdf), func(w int) bool { return 2*cdf[w] > 1-confidence+rounding })
	if k == 0 {
		return nil
	}
	w := walsh(xs)
	return &Interval{Lo: w[k-1], Hi: w[len(w)-k], Confidence: 1 - 2*cdf[k-1]}
}

// rounding is what sums of exact shares may be off by.
const rounding = 1e-12

// signedRankCDF returns P(W ≤ w) for w = 0 … n(n+1)/2, W the sum of a random
// subset of the ranks 1 … n. No library here has it; benchmath has rank tests
// of two samples only.
func signedRankCDF(n int) []float64 {
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for w := len(p) - 1; w >= 0; w-- {
			p[w] /= 2
			if w >= rank {
				p[w] += p[w-rank] / 2
			}
		}
	}
	for w := 1; w < len(p); w++ {
		p[w] += p[w-1]
	}
	return p
}

// RankSum returns the interval for the shift of b over a that inverts the
// test of Mann and Whitney with the exact distribution of U (Moses; Hollander,
// Wolfe and Chicken 2014, §4.3): from the k-th smallest difference to the k-th
// largest. It is nil where so few values never reach the confidence: four a
// side reach 97 %, three 90 %.
func RankSum(a, b []float64, confidence float64) *Interval {
	mustBeShare(confidence)
	d := stats.UDist{N1: len(a), N2: len(b)}
	tail := func(u int) float64 { return 2 * d.CDF(float64(u)) }
	k := sort.Search(len(a)*len(b)/2, func(u int) bool { return tail(u) > 1-confidence+rounding })
	if k == 0 {
		return nil
	}
	diffs := differences(a, b)
	return &Interval{Lo: diffs[k-1], Hi: diffs[len(diffs)-k], Confidence: 1 - tail(k-1)}
}

func mustBeShare(p float64) {
	if !(p > 0 && p < 1) || math.IsNaN(p) {
		panic(fmt.Sprintf("stat: %v is not between 0 and 1", p))
	}
}
