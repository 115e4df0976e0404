package stat

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Holm returns the level at which each of several hypotheses is tested so that
// all rejections together are wrong with probability alpha at most, however
// they depend on each other (Holm 1979): the smallest p at alpha/m, the next
// at alpha/(m−1), and so on to the first that is kept; all others then share its
// level. A hypothesis is rejected where p is at most its level, and an
// interval of confidence 1−level leaves it out in exactly that case.
func Holm(ps []float64, alpha float64) []float64 {
	mustBeShare(alpha)
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case ps[i] < ps[j]:
			return -1
		case ps[i] > ps[j]:
			return 1
		}
		return 0
	})
	levels := make([]float64, len(ps))
	level, stopped := 0.0, false
	for rank, i := range order {
		if !stopped {
			level = alpha / float64(len(ps)-rank)
			stopped = ps[i] > level
		}
		levels[i] = level
	}
	return levels
}

// Spend divides alpha over looks at growing data, by Kim and DeMets' spending
// function alpha·t^rho of the share t of the data (Biometrika 74, 1987; within
// the scheme of Lan and DeMets 1983). Each look gets what the function grew by
// since the one before. Their sum is alpha, so by Bonferroni's inequality the
// chance that any look goes wrong is at most alpha whatever the dependence;
// the usual joint normal distribution would give slightly more, but holds for
// large samples only. Looks are sizes in ascending order; it panics otherwise.
func Spend(looks []int, alpha, rho float64) []float64 {
	mustBeShare(alpha)
	out := make([]float64, len(looks))
	spent := 0.0
	for i, n := range looks {
		if n <= 0 || i > 0 && n <= looks[i-1] {
			panic("stat: looks must be positive and ascend")
		}
		upTo := alpha * math.Pow(float64(n)/float64(looks[len(looks)-1]), rho)
		out[i], spent = upTo-spent, upTo
	}
	return out
}

// Neighbours returns the correlation of each value with the next one (lag 1):
// 0 for values that are independent. It is 0 where all are equal.
func Neighbours(xs []float64) float64 {
	mean := stats.Mean(xs)
	sum, all := 0.0, 0.0
	for i, x := range xs {
		all += (x - mean) * (x - mean)
		if i > 0 {
			sum += (x - mean) * (xs[i-1] - mean)
		}
	}
	if all == 0 {
		return 0
	}
	return sum / all
}
