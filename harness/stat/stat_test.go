package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func TestQuantile(t *testing.T) {
	// numpy.percentile([1, 2, 4, 8], [0, 25, 50, 90, 99, 100]); by hand:
	// position 3p, so 0.75 → 1 + 0.75·1, 1.5 → 2 + 0.5·2, 2.7 → 4 + 0.7·4,
	// 2.97 → 4 + 0.97·4.
	xs := []float64{1, 2, 4, 8}
	for _, c := range []struct{ p, want float64 }{
		{0, 1}, {0.25, 1.75}, {0.5, 3}, {0.9, 6.8}, {0.99, 7.88}, {1, 8},
	} {
		near(t, "quantile", Quantile(xs, c.p), c.want, 1e-12)
	}
	near(t, "quantile of one value", Quantile([]float64{7}, 0.99), 7, 0)
	if q := Quantile(nil, 0.5); !math.IsNaN(q) {
		t.Errorf("quantile of nothing = %v, want NaN", q)
	}
}

func TestQuantileRefusesPercent(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("p = 50 was taken for a quantile")
		}
	}()
	Quantile([]float64{1, 2}, 50)
}

func TestSummarize(t *testing.T) {
	xs := []float64{8, 1, 4, 2}
	s := Summarize(xs)
	// Mean 15/4; squared deviations 7.5625 + 3.0625 + 0.0625 + 18.0625 = 28.75.
	near(t, "mean", s.Mean, 3.75, 1e-12)
	near(t, "sd", *s.SD, math.Sqrt(28.75/3), 1e-12)
	near(t, "p50", s.P50, 3, 1e-12)
	near(t, "p90", s.P90, 6.8, 1e-12)
	near(t, "p99", s.P99, 7.88, 1e-12)
	if s.N != 4 || s.Min != 1 || s.Max != 8 {
		t.Errorf("n, min, max = %d, %v, %v", s.N, s.Min, s.Max)
	}
	if xs[0] != 8 {
		t.Error("the caller's values were reordered")
	}
	if Summarize(nil) != nil {
		t.Error("nothing has a summary")
	}
	if one := Summarize([]float64{5}); one.SD != nil || one.Mean != 5 {
		t.Errorf("one value has the summary %+v, want no SD", one)
	}
}

func TestSummarizeRefusesNaN(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("NaN was summarized")
		}
	}()
	Summarize([]float64{1, math.NaN()})
}

func TestOrders(t *testing.T) {
	// From sums of exact binomial terms in rational arithmetic; n = 6 and 10 by
	// hand: 1/64 ≤ 0.025 < 7/64, and 11/1024 ≤ 0.025 < 56/1024.
	for _, c := range []struct {
		n    int
		p    float64
		l, u int
	}{
		{0, 0.5, 0, 1},
		{5, 0.5, 0, 6},
		{6, 0.5, 1, 6},
		{10, 0.5, 2, 9},
		{20, 0.5, 6, 15},
		{100, 0.9, 84, 96},
		{300, 0.99, 293, 301},
		{367, 0.99, 359, 368},
		{368, 0.99, 360, 368},
		{1000, 0.99, 983, 997},
	} {
		if l, u := orders(c.n, c.p, 0.95); l != c.l || u != c.u {
			t.Errorf("n = %d, p = %v: orders %d and %d, want %d and %d", c.n, c.p, l, u, c.l, c.u)
		}
	}
}

func TestQuantileIntervalTooFew(t *testing.T) {
	xs := make([]float64, 300)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	lo, hi, ok := QuantileInterval(xs, 0.99, 0.95)
	if ok || !math.IsInf(hi, 1) || lo != 293 {
		t.Errorf("300 values bound p99 to %v … %v, %v; want 293 … +Inf, false", lo, hi, ok)
	}
	if _, _, ok := QuantileInterval(nil, 0.5, 0.95); ok {
		t.Error("nothing bounds a quantile")
	}
}

func TestMinSamples(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want int
	}{{0.5, 6}, {0.9, 36}, {0.99, 368}, {0.01, 368}} {
		if got := MinSamples(c.p, 0.95); got != c.want {
			t.Errorf("MinSamples(%v) = %d, want %d", c.p, got, c.want)
		}
		for n, want := range map[int]bool{c.want - 1: false, c.want: true} {
			if l, u := orders(n, c.p, 0.95); (l >= 1 && u <= n) != want {
				t.Errorf("p = %v: %d values give orders %d and %d", c.p, n, l, u)
			}
		}
	}
}

// TestQuantileIntervalCoverage draws samples of a distribution whose quantiles
// are known and counts how often the interval misses on either side.
func TestQuantileIntervalCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 2000
	for _, c := range []struct {
		n int
		p float64
	}{{20, 0.5}, {400, 0.99}} {
		truth := -math.Log(1 - c.p) // quantile of the unit exponential
		below, above := 0, 0
		xs := make([]float64, c.n)
		for range trials {
			for i := range xs {
				xs[i] = rng.ExpFloat64()
			}
			slices.Sort(xs)
			lo, hi, ok := QuantileInterval(xs, c.p, 0.95)
			switch {
			case !ok:
				t.Fatalf("%d values do not bound the quantile %v", c.n, c.p)
			case truth < lo:
				below++
			case truth > hi:
				above++
			}
		}
		// At most 2.5 % a side, and 3.5 standard errors of 2,000 trials more.
		const most = trials*0.025 + 3.5*7
		if float64(below) > most || float64(above) > most {
			t.Errorf("n = %d, p = %v: missed %d times below and %d above in %d", c.n, c.p, below, above, trials)
		}
		if below+above == 0 {
			t.Errorf("n = %d, p = %v: never missed; the interval is far too wide", c.n, c.p)
		}
	}
}

func TestMedian(t *testing.T) {
	c := Median([]float64{5, 1, 4, 2, 3, 6}, 0.95)
	// Six values: from the smallest to the largest, with confidence 1 − 2/64.
	if c.Median != 3.5 || *c.Lo != 1 || *c.Hi != 6 || c.Warnings != nil {
		t.Errorf("median of 1…6 = %+v", c)
	}
	near(t, "confidence", c.Confidence, 1-2.0/64, 1e-9)
	few := Median([]float64{1, 2, 3}, 0.95)
	if few.Lo != nil || few.Hi != nil || len(few.Warnings) == 0 {
		t.Errorf("three values bound their median: %+v", few)
	}
	if Median(nil, 0.95) != nil {
		t.Error("nothing has a median")
	}
}
