package sched

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactLogprobs is log-softmax in float64.
func exactLogprobs(logits []float32) []float64 {
	var sum float64
	for _, l := range logits {
		sum += math.Exp(float64(l))
	}
	out := make([]float64, len(logits))
	for i, l := range logits {
		out[i] = float64(l) - math.Log(sum)
	}
	return out
}

// draws counts tokens over many samples of one row.
func draws(logits []float32, p Sampling, n int) []float64 {
	w := newWorker(len(logits))
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]float64, len(logits))
	for range n {
		out[w.sample(logits, p, rng)] += 1 / float64(n)
	}
	return out
}

func TestSampleFollowsTheDistribution(t *testing.T) {
	// Probabilities 0.4, 0.3, 0.2, 0.1 at temperature 1.
	logits := []float32{0, 0, 0, 0}
	base := []float64{0.2, 0.4, 0.1, 0.3}
	for i, p := range base {
		logits[i] = float32(math.Log(p))
	}
	sharp := make([]float64, 4) // temperature 0.5 squares and renormalises
	for i, p := range base {
		sharp[i] = p * p / 0.30
	}
	for name, c := range map[string]struct {
		p    Sampling
		want []float64
	}{
		"plain":           {Sampling{Temperature: 1, TopP: 1}, base},
		"temperature 0.5": {Sampling{Temperature: 0.5, TopP: 1}, sharp},
		"top k 2":         {Sampling{Temperature: 1, TopP: 1, TopK: 2}, []float64{0, 4. / 7, 0, 3. / 7}},
		"top k -1":        {Sampling{Temperature: 1, TopP: 1, TopK: -1}, base},
		"top p 0.5":       {Sampling{Temperature: 1, TopP: 0.5}, []float64{0, 4. / 7, 0, 3. / 7}},
		"top p 0.85":      {Sampling{Temperature: 1, TopP: 0.85}, []float64{2. / 9, 4. / 9, 0, 3. / 9}},
		// Of the three that top k keeps, 0.4/0.9 and 0.3/0.9 reach 0.7: top p is of what top k left.
		"top k 3, top p 0.7": {Sampling{Temperature: 1, TopK: 3, TopP: 0.7}, []float64{0, 4. / 7, 0, 3. / 7}},
		"greedy":             {Sampling{TopP: 1}, []float64{0, 1, 0, 0}},
		"top k 1":            {Sampling{Temperature: 1, TopP: 1, TopK: 1}, []float64{0, 1, 0, 0}},
		"tiny top p":         {Sampling{Temperature: 1, TopP: 1e-9}, []float64{0, 1, 0, 0}},
	} {
		const n = 40000
		for i, got := range draws(logits, c.p, n) {
			// Five standard errors of a share: one failure in two million, and the generator is seeded.
			if tol := 5*math.Sqrt(c.want[i]*(1-c.want[i])/n) + 1e-9; math.Abs(got-c.want[i]) > tol {
				t.Errorf("%s: token %d drawn %.4f, want %.4f ± %.4f", name, i, got, c.want[i], tol)
			}
		}
	}
}

func TestTopPOverAWideRow(t *testing.T) {
	// One token has half the mass, 1,000 share the rest: p 0.9 must reach below
	// the first threshold of 1 % of the likeliest.
	logits := make([]float32, 1001)
	logits[500] = float32(math.Log(1000))
	got := draws(logits, Sampling{Temperature: 1, TopP: 0.9}, 20000)
	if want := 0.5 / 0.9; math.Abs(got[500]-want) > 0.02 {
		t.Errorf("the likeliest token drawn %.3f, want %.3f", got[500], want)
	}
	for id := 801; id < 1001; id++ { // ties are kept by id: 500 and the first 800 others
		if got[id] > 0 {
			t.Fatalf("token %d is outside the nucleus, but was drawn", id)
		}
	}
}

func TestTemperatureIsRaisedAsInVLLM(t *testing.T) {
	logits := []float32{0, 0.001}
	got := draws(logits, Sampling{Temperature: 1e-45, TopP: 1}, 20000)
	want := 1 / (1 + math.Exp(0.001/MinTemperature))
	if math.Abs(got[0]-want) > 0.02 {
		t.Errorf("token 0 drawn %.3f, want %.3f (temperature %v)", got[0], want, MinTemperature)
	}
}

func TestBadRowsDoNotCrash(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		row  []float32
		want int32
		lp   bool // a log-probability exists
	}{
		"all NaN":   {[]float32{nan, nan, nan}, 0, false},
		"first NaN": {[]float32{nan, 1, 2}, 0, false},
		"one NaN":   {[]float32{1, 2, nan}, 2, false},
		"zeros":     {[]float32{0, 0, 0}, 0, true},
		"ties":      {[]float32{1, 2, 2}, 1, true},
		"all -Inf":  {[]float32{-inf, -inf, -inf}, 0, false},
		"+Inf":      {[]float32{0, inf, 0}, 1, false},
		"one -Inf":  {[]float32{-inf, 3, 0}, 1, true},
	} {
		w := newWorker(3)
		rng := newRand(nil)
		if got := w.sample(c.row, Sampling{TopP: 1}, rng); got != c.want {
			t.Errorf("%s: greedy token %d, want %d", name, got, c.want)
		}
		for _, p := range []Sampling{{Temperature: 1, TopP: 1}, {Temperature: 1, TopP: 0.5}, {Temperature: 1, TopP: 1, TopK: 2}} {
			if got := w.sample(c.row, p, rng); got < 0 || got > 2 {
				t.Errorf("%s: token %d", name, got)
			}
		}
		lp := w.logprobs(c.row, c.want, 2)
		if ok := !math.IsNaN(lp[0].Value); ok != c.lp {
			t.Errorf("%s: log-probability %v", name, lp[0].Value)
		}
	}
}

func TestBestAgreesWithSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	row := make([]float32, 600)
	for i := range row {
		row[i] = float32(rng.IntN(100)) // many ties
	}
	var all []candidate
	for i, l := range row {
		all = append(all, candidate{int32(i), l})
	}
	slices.SortFunc(all, better)
	for _, k := range []int{0, 1, 5, 20, 128, 129, 600, 700} {
		if got := best(nil, row, k); !slices.Equal(got, all[:min(k, len(all))]) {
			t.Errorf("the best %d differ from those of a sorted row", k)
		}
	}
}

func TestLogSumExpIsAccurate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	row := make([]float32, 2048)
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 8)
	}
	row[7] = -1e30
	var sum float64
	for _, l := range row {
		sum += math.Exp(float64(l))
	}
	if got, want := logSumExp(row, make([]float32, 2048)), math.Log(sum); math.Abs(got-want) > 1e-6 {
		t.Errorf("logSumExp %.9f, want %.9f", got, want)
	}
}

func BenchmarkSample(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 5))
	row := make([]float32, 2048)
	for i := range row {
		row[i] = float32(rng.NormFloat64() * 3)
	}
	w := newWorker(len(row))
	for name, p := range map[string]Sampling{
		"greedy":      {TopP: 1},
		"temperature": {Temperature: 0.7, TopP: 1},
		"top_p":       {Temperature: 0.7, TopP: 0.95},
		"top_k":       {Temperature: 0.7, TopP: 1, TopK: 40},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.sample(row, p, rng)
			}
		})
	}
	b.Run("logprobs", func(b *testing.B) {
		for b.Loop() {
			w.logprobs(row, 5, 5)
		}
	})
}
