package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFindTrend(t *testing.T) {
	// 1 to 10: all 45 pairs rise, the variance is 10·9·25/18 = 125, so
	// z = 44/√125 = 3.9355, and the normal table has 4.15e-5 beyond it.
	rising := make([]float64, 10)
	for i := range rising {
		rising[i] = 3 * float64(i+1)
	}
	got := FindTrend(rising)
	if got == nil || got.Slope != 3 || math.Abs(got.P-8.30e-5) > 0.02e-5 {
		t.Errorf("ten rising values: %+v, want slope 3, p 8.30e-5", got)
	}
	// One wild value moves neither.
	rising[0] = 1e9
	if got := FindTrend(rising); math.Abs(got.Slope-3) > 1e-9 || got.P > 0.05 {
		t.Errorf("with one wild value: %+v", got)
	}
	if got := FindTrend(make([]float64, 12)); got.Slope != 0 || got.P != 1 {
		t.Errorf("equal values: %+v", got)
	}
	// 1 1 2 2 … 5 5: 5 of the 45 pairs are tied, so S = 40, and the variance is
	// 125 − 5·(2·1·9/18) = 120: z = 39/√120 = 3.560, p = 3.71e-4.
	tied := []float64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}
	if got := FindTrend(tied); math.Abs(got.P-3.71e-4) > 0.02e-4 {
		t.Errorf("with ties: p %v, want 3.71e-4", got.P)
	}
	if got := FindTrend(rising[:MinTrend-1]); got != nil {
		t.Errorf("nine values have a trend: %+v", got)
	}
}

// The test holds its level where nothing trends: of 2,000 sequences 5 % are
// expected under p = 0.05, and six standard deviations of that are 59 more.
func TestFindTrendLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	under := 0
	for range 2000 {
		v := make([]float64, 15)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		if FindTrend(v).P < 0.05 {
			under++
		}
	}
	if under < 41 || under > 159 {
		t.Errorf("%d of 2,000 sequences without a trend have p < 0.05, want about 100", under)
	}
}
