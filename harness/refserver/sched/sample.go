package sched

import (
	"math"
	"math/rand/v2"
	"slices"
)

// worker holds the scratch memory of one sampling goroutine.
type worker struct {
	masked []float32 // a row's logits with end tokens masked
	probs  []float32
	top    []candidate
	order  []candidate
	kept   []float32 // logits of the candidates of a nucleus
}

func newWorker(vocab int) *worker {
	return &worker{masked: make([]float32, vocab), probs: make([]float32, vocab)}
}

// newRand returns a request's own generator, so that its draws do not depend on
// who else is in the batch.
func newRand(seed *int64) *rand.Rand {
	if seed == nil {
		return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return rand.New(rand.NewPCG(uint64(*seed), 0x9e3779b97f4a7c15))
}

// sample draws the next token. NaN counts as the largest logit, as in
// torch.argmax, which vLLM ends in for greedy and for random draws: with a NaN in the row the
// first NaN is drawn; with +Inf the first of these, with −Inf alone token 0.
func (w *worker) sample(logits []float32, p Sampling, rng *rand.Rand) int32 {
	top, nan := argmax(logits)
	if p.Temperature == 0 || nan || p.TopK == 1 || math.IsInf(float64(logits[top]), 0) {
		return top
	}
	scale := float32(1 / max(p.Temperature, MinTemperature))
	if p.TopK > 0 && p.TopK < len(logits) {
		w.top = best(w.top, logits, p.TopK)
		return w.nucleus(w.top, logits[top], scale, p.TopP, 0, rng)
	}
	sum := expSum(logits, w.probs, logits[top], scale)
	if p.TopP < 1 {
		return w.topP(logits, logits[top], scale, p.TopP, sum, rng)
	}
	left := rng.Float64() * sum
	for i, e := range w.probs[:len(logits)] {
		if left -= float64(e); left < 0 {
			return int32(i)
		}
	}
	return top // rounding left a rest beyond the last token
}

// argmax returns the largest logit's token, the lowest id on ties; or the first
// NaN and true.
func argmax(logits []float32) (int32, bool) {
	at := 0
	m := logits[0]
	for i, l := range logits {
		if l > m {
			at, m = i, l
		} else if l != l {
			return int32(i), true
		}
	}
	return int32(at), false
}

// topP keeps the fewest likeliest tokens whose probability reaches p. Sorting a
// whole vocabulary for every row would cost more than the tiny model itself, so
// only tokens above a falling threshold are sorted, until they suffice.
func (w *worker) topP(logits []float32, shift, scale float32, p, sum float64, rng *rand.Rand) int32 {
	for _, floor := range [...]float32{1e-2, 1e-4, 0} {
		w.order = w.order[:0]
		mass := 0.0
		for i, e := range w.probs[:len(logits)] {
			if e >= floor {
				w.order = append(w.order, candidate{int32(i), logits[i]})
				mass += float64(e)
			}
		}
		if mass >= p*sum || floor == 0 {
			break
		}
	}
	slices.SortFunc(w.order, better)
	return w.nucleus(w.order, shift, scale, p, sum, rng)
}

// nucleus draws from sorted candidates, cut where their probability reaches p of
// sum; a sum of 0 stands for that of the candidates themselves.
func (w *worker) nucleus(sorted []candidate, shift, scale float32, p, sum float64, rng *rand.Rand) int32 {
	w.kept = w.kept[:0]
	for _, c := range sorted {
		w.kept = append(w.kept, c.logit)
	}
	total := expSum(w.kept, w.probs, shift, scale)
	if sum == 0 {
		sum = total
	}
	kept, n := 0.0, 0
	for n < len(sorted) {
		kept += float64(w.probs[n])
		n++
		if kept >= p*sum {
			break
		}
	}
	left := rng.Float64() * kept
	for i := range n {
		if left -= float64(w.probs[i]); left < 0 {
			return sorted[i].token
		}
	}
	return sorted[0].token
}
