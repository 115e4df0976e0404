package parity

import (
	"math"
	"sort"

	"touchstone/harness/stat"
)

// Deltas says how far two builds' log-probabilities of the same tokens are
// apart, in nats, over the positions before their first difference.
type Deltas struct {
	N    int     `json:"n"`    // positions
	Bias float64 `json:"bias"` // mean of candidate minus baseline; noise alone gives about 0
	Mean float64 `json:"mean"` // of the absolute difference
	RMS  float64 `json:"rms"`
	P99  float64 `json:"p99"` // of the absolute difference
	Max  float64 `json:"max"` // of the absolute difference
}

// Delta compares the log-probabilities of pairs of answers, base[i] with
// cand[i], all positions pooled. Positions that either side tells no
// log-probability for are left out; nil means that none was left.
func Delta(base, cand []Sequence) *Deltas {
	var abs []float64
	d := &Deltas{}
	for i := range min(len(base), len(cand)) {
		a, b := base[i], cand[i]
		n := FirstDivergence(a.IDs, b.IDs)
		if n < 0 {
			n = len(a.IDs)
		}
		for t := range min(n, len(a.Logprobs), len(b.Logprobs)) {
			la, lb := a.Logprobs[t], b.Logprobs[t]
			if la == nil || lb == nil {
				continue
			}
			x := *lb - *la
			if math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			d.Bias += x
			d.Mean += math.Abs(x)
			d.RMS += x * x
			abs = append(abs, math.Abs(x))
		}
	}
	d.N = len(abs)
	if d.N == 0 {
		return nil
	}
	n := float64(d.N)
	d.Bias, d.Mean, d.RMS = d.Bias/n, d.Mean/n, math.Sqrt(d.RMS/n)
	sort.Float64s(abs)
	d.P99, d.Max = stat.Quantile(abs, 0.99), abs[len(abs)-1]
	return d
}
