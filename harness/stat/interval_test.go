package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestCentres(t *testing.T) {
	// Walsh averages of 1, 2, 10: 1, 1.5, 2, 5.5, 6, 10; differences 2, 3, 6, 7.
	near(t, "Hodges–Lehmann", HodgesLehmann([]float64{10, 1, 2}), 3.75, 1e-12)
	near(t, "shift", Shift([]float64{1, 2}, []float64{4, 8}), 4.5, 1e-12)
	if !math.IsNaN(HodgesLehmann(nil)) || !math.IsNaN(Shift(nil, []float64{1})) {
		t.Error("nothing has a centre")
	}
}

func TestSignedRank(t *testing.T) {
	// Sets of distinct ranks that add up to 0 … 8: 1, 1, 1, 2, 2, 3, 4, 5, 6 of
	// them, 25 of 1,024; the critical value of 10 pairs at 5 % is 8 in every table.
	near(t, "P(W ≤ 8), 10 pairs", signedRankCDF(10)[8], 25.0/1024, 1e-12)
	xs := []float64{1, 2, 3, 4, 5, 6}
	i := SignedRank(xs, 0.95)
	if i == nil || i.Lo != 1 || i.Hi != 6 {
		t.Fatalf("six values at 95 %%: %+v, want 1 … 6", i)
	}
	near(t, "confidence", i.Confidence, 1-2.0/64, 1e-12)
	if SignedRank(xs[:5], 0.95) != nil || SignedRank(nil, 0.95) != nil {
		t.Error("five values reach 95 %")
	}
	if SignedRank(append(xs, 7), 0.99) != nil || SignedRank(append(xs, 7, 8), 0.99) == nil {
		t.Error("99 % takes eight values")
	}
}

func TestRankSum(t *testing.T) {
	a, b := []float64{0, 1, 2, 3}, []float64{10, 11, 12, 14}
	// Of 70 arrangements one has U = 0.
	i := RankSum(a, b, 0.95)
	if i == nil || i.Lo != 7 || i.Hi != 14 {
		t.Fatalf("four a side at 95 %%: %+v, want 7 … 14", i)
	}
	near(t, "confidence", i.Confidence, 1-2.0/70, 1e-12)
	if RankSum(a[:3], b[:3], 0.95) != nil || RankSum(a[:3], b[:3], 0.90) == nil {
		t.Error("three a side reach 90 % and no more")
	}
}

func TestStudent(t *testing.T) {
	// Printed tables of Student's distribution.
	near(t, "t(5 %, 9)", TQuantile(0.05, 9), 2.262157, 1e-5)
	near(t, "t(1 %, 4)", TQuantile(0.01, 4), 4.604095, 1e-5)
	// Differences 1, 2, 3; for 2 degrees of freedom p = 1 − t/√(t²+2), t = 2√3.
	e := Paired([]float64{5, 0, 9}, []float64{6, 2, 12})
	near(t, "centre", e.Center, 2, 1e-12)
	near(t, "error", e.SE, 1/math.Sqrt(3), 1e-12)
	near(t, "degrees", e.DF, 2, 0)
	near(t, "p", e.P(0), 1-2*math.Sqrt(3)/math.Sqrt(14), 1e-9)
	near(t, "p at the centre", e.P(2), 1, 0)
	near(t, "lower end", e.Interval(0.95).Lo, 2-4.302653/math.Sqrt(3), 1e-5)
	// Variances 1 and 4 of three values each.
	a, b := []float64{1, 2, 3}, []float64{2, 4, 6}
	w := Unpaired(a, b)
	near(t, "Welch's error", w.SE, math.Sqrt(5.0/3), 1e-12)
	near(t, "Welch's degrees", w.DF, 50.0/17, 1e-12)
	p := Pooled(a, b)
	near(t, "pooled error", p.SE, math.Sqrt(5.0/3), 1e-12)
	near(t, "pooled degrees", p.DF, 4, 0)
	// Sums 3, 6, 9 and differences 1, 2, 3: variances 9 and 1.
	near(t, "sharing", Sharing(a, b), 9, 1e-12)
	// (2.262157 + 0.883404)·1
	near(t, "MDE", MDE(1, 9, 0.05), 3.145561, 1e-5)
}

func TestHolm(t *testing.T) {
	// 0.01 ≤ 0.05/3; 0.03 > 0.05/2, so the rest is kept at that level.
	for i, want := range []float64{0.05 / 3, 0.025, 0.025} {
		near(t, "level", Holm([]float64{0.01, 0.04, 0.03}, 0.05)[i], want, 1e-12)
	}
	// All fall: thirds, halves, the whole.
	for i, want := range []float64{0.05, 0.05 / 3, 0.025} {
		near(t, "level", Holm([]float64{0.04, 0.001, 0.02}, 0.05)[i], want, 1e-12)
	}
}

func TestSpend(t *testing.T) {
	got := Spend([]int{5, 10, 20}, 0.01, 1)
	for i, want := range []float64{0.0025, 0.0025, 0.005} {
		near(t, "spent", got[i], want, 1e-12)
	}
	got = Spend([]int{10, 20}, 0.01, 0.35)
	near(t, "spent first", got[0], 0.01*math.Pow(0.5, 0.35), 1e-12)
	near(t, "spent in all", got[0]+got[1], 0.01, 1e-12)
	defer func() {
		if recover() == nil {
			t.Error("looks that don't ascend were taken")
		}
	}()
	Spend([]int{10, 10}, 0.01, 1)
}

func TestNeighbours(t *testing.T) {
	near(t, "alternating", Neighbours([]float64{1, -1, 1, -1}), -0.75, 1e-12)
	near(t, "equal", Neighbours([]float64{2, 2, 2}), 0, 0)
}

func TestBootstrapT(t *testing.T) {
	xs := []float64{3, 1, 4, 1, 5, 9, 2, 6}
	i, again := BootstrapT(xs, 0.95), BootstrapT(xs, 0.95)
	if i == nil || *i != *again {
		t.Errorf("two intervals of one sample: %+v and %+v", i, again)
	}
	if BootstrapT(xs[:4], 0.95) != nil || BootstrapT([]float64{2, 2, 2, 2, 2}, 0.95) != nil {
		t.Error("an interval without a spread to rest on")
	}
}

// TestCoverage counts how often each interval misses the truth over 2,000
// samples of ten values (five a side hold 99 % at most, so ten there too).
func TestCoverage(t *testing.T) {
	const samples, n = 2000, 10
	laplace := func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal": (*rand.Rand).NormFloat64, "Laplace": laplace,
	} {
		rng := rand.New(rand.NewPCG(1, 7))
		missed := map[string]int{}
		count := func(what string, i *Interval) {
			if i == nil {
				t.Fatalf("%s: no interval from ten values", what)
			}
			if i.Lo > 0 || i.Hi < 0 {
				missed[what]++
			}
		}
		a, b, d := make([]float64, n), make([]float64, n), make([]float64, n)
		for range samples {
			for i := range a {
				a[i], b[i] = draw(rng), draw(rng)
				d[i] = b[i] - a[i]
			}
			for what, e := range map[string]Estimate{"paired": Paired(a, b), "pooled": Pooled(a, b), "Welch": Unpaired(a, b)} {
				i := e.Interval(0.95)
				count(what, &i)
			}
			count("signed rank", SignedRank(d, 0.95))
			count("rank sum", RankSum(a, b, 0.95))
			count("bootstrap", BootstrapT(d, 0.95))
		}
		for what, m := range missed {
			t.Logf("%s, %-11s missed %.1f %%", name, what, 100*float64(m)/samples)
			// 5 %, and three standard errors of 2,000 samples; the bootstrap is
			// approximate, and may err by one percent more.
			most := 0.05 + 3*0.0049
			if what == "bootstrap" {
				most += 0.01
			}
			if got := float64(m) / samples; got > most || got < 0.02 {
				t.Errorf("%s, %s: missed in %.1f %%, want about 5 %%", name, what, 100*got)
			}
		}
		if len(missed) != 6 {
			t.Errorf("%s: some interval never missed: %v", name, missed)
		}
	}
}
