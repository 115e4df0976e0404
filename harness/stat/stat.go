// Package stat holds the statistics of a verdict: quantiles, summaries, and
// intervals that assume nothing about a distribution. It is pure.
package stat

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// Quantile returns the p-quantile of values in ascending order, by linear
// interpolation between the order statistics around (n−1)·p: type 7 of Hyndman
// and Fan 1996, and what numpy.percentile, and so vLLM and SGLang, print. It is
// NaN where there are no values. It panics for p outside 0 to 1.
//
// The library beside it (go-moremath) interpolates by type 8, which would
// differ from every other benchmark of language models in the last digits.
func Quantile(sorted []float64, p float64) float64 {
	if !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("stat: quantile %v is not between 0 and 1", p))
	}
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	lo, hi := sorted[i], sorted[i+1]
	return lo + (at-float64(i))*(hi-lo)
}

// Summary describes a sample in the unit of its values.
type Summary struct {
	N    int      `json:"n"`
	Mean float64  `json:"mean"`
	SD   *float64 `json:"sd"` // of the sample (divided by n−1); nil for one value
	Min  float64  `json:"min"`
	P50  float64  `json:"p50"`
	P90  float64  `json:"p90"`
	P99  float64  `json:"p99"`
	Max  float64  `json:"max"`
}

// Summarize describes values, in any order; it leaves them as they are. It is
// nil where there are none. It panics for a value that is NaN or infinite,
// which no measurement is.
func Summarize(values []float64) *Summary {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	mean := 0.0
	for i, v := range sorted {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(fmt.Sprintf("stat: %v among the values", v))
		}
		mean += (v - mean) / float64(i+1)
	}
	s := &Summary{
		N: len(sorted), Mean: mean, Min: sorted[0], Max: sorted[len(sorted)-1],
		P50: Quantile(sorted, 0.5), P90: Quantile(sorted, 0.9), P99: Quantile(sorted, 0.99),
	}
	if len(sorted) > 1 {
		sum := 0.0
		for _, v := range sorted {
			sum += (v - mean) * (v - mean)
		}
		sd := math.Sqrt(sum / float64(len(sorted)-1))
		s.SD = &sd
	}
	return s
}

// QuantileInterval returns an interval that holds the true p-quantile with at
// least the given confidence, whatever the distribution: the order statistics
// X(l) and X(u) with the largest l and the smallest u for which
//
//	P(B < l) ≤ (1−confidence)/2 and P(B ≥ u) ≤ (1−confidence)/2, B ~ Binomial(n, p)
//
// (Hahn and Meeker, Statistical Intervals, 1991, §5.2), with the exact binomial
// distribution. The normal approximation that benchmath uses above 30 values
// was rejected: for p = 0.99 and some hundred values B is far from normal.
//
// Too few values bound the quantile on one side only, or on none: then ok is
// false and the open side is infinite. MinSamples tells how many it takes.
// Values must be in ascending order.
func QuantileInterval(sorted []float64, p, confidence float64) (lo, hi float64, ok bool) {
	if !(p > 0 && p < 1) || !(confidence > 0 && confidence < 1) {
		panic(fmt.Sprintf("stat: quantile %v or confidence %v is not between 0 and 1", p, confidence))
	}
	lo, hi = math.Inf(-1), math.Inf(1)
	l, u := orders(len(sorted), p, confidence)
	if l >= 1 {
		lo = sorted[l-1]
	}
	if u <= len(sorted) {
		hi = sorted[u-1]
	}
	return lo, hi, l >= 1 && u <= len(sorted)
}

// orders returns l and u of QuantileInterval, counted from 1. An open side is
// 0 or n+1.
func orders(n int, p, confidence float64) (l, u int) {
	tail := (1 - confidence) / 2
	b := stats.BinomialDist{N: n, P: p}
	// P(B < l) = CDF(l−1) grows with l; i = l−1 is the first that is too large.
	l = sort.Search(n, func(i int) bool { return b.CDF(float64(i)) > tail })
	// P(B ≥ u) falls with u. It is taken from the mirror image, n−B ≤ n−u,
	// since 1 − CDF(u−1) would lose its digits.
	mirror := stats.BinomialDist{N: n, P: 1 - p}
	u = 1 + sort.Search(n, func(i int) bool { return mirror.CDF(float64(n-i-1)) <= tail })
	return l, u
}

// MinSamples returns how many values it takes at least until QuantileInterval
// bounds the p-quantile on both sides: the first n for which the smallest
// value is under it and the largest above it, each with a chance of at most
// (1−confidence)/2 of being otherwise, so max(p, 1−p)ⁿ ≤ (1−confidence)/2.
// That is 6 for the median and 368 for the 99th percentile, at 95 %.
func MinSamples(p, confidence float64) int {
	return int(math.Ceil(math.Log((1-confidence)/2) / math.Log(max(p, 1-p))))
}

// Center is a median with its interval, and what has to be said with it.
type Center struct {
	Median     float64  `json:"median"`
	Lo         *float64 `json:"lo"` // nil: not bounded by so few values
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"` // reached, at least the one asked for
	Warnings   []string `json:"warnings,omitempty"`
}

// Median returns the median of a few rounds, say, with the interval that
// benchstat prints for the same values. It is nil where there are none.
func Median(values []float64, confidence float64) *Center {
	if len(values) == 0 {
		return nil
	}
	t := benchmath.DefaultThresholds
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &t), confidence)
	c := &Center{Median: s.Center, Confidence: s.Confidence}
	if !math.IsInf(s.Lo, 0) {
		c.Lo = &s.Lo
	}
	if !math.IsInf(s.Hi, 0) {
		c.Hi = &s.Hi
	}
	for _, w := range s.Warnings {
		c.Warnings = append(c.Warnings, w.Error())
	}
	return c
}
