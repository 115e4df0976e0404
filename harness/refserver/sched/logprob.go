package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// candidate is a token with its logit.
type candidate struct {
	token int32
	logit float32
}

// better orders candidates: the likelier first, the lower id on ties.
func better(a, b candidate) int {
	if c := cmp.Compare(b.logit, a.logit); c != 0 {
		return c
	}
	return cmp.Compare(a.token, b.token)
}

// insertionLimit is the k above which sorting the whole row is cheaper than
// keeping the best k sorted by insertion.
const insertionLimit = 128

// best returns the k likeliest candidates of a row, in order, in dst[:0].
func best(dst []candidate, logits []float32, k int) []candidate {
	dst = dst[:0]
	k = min(k, len(logits))
	if k == 0 {
		return dst
	}
	if k > insertionLimit {
		for i, l := range logits {
			dst = append(dst, candidate{int32(i), l})
		}
		slices.SortFunc(dst, better)
		return dst[:k]
	}
	for i, l := range logits {
		if len(dst) == k && !(l > dst[k-1].logit) {
			continue // a tie goes to the lower id, which came first; NaN is never likely
		}
		c := candidate{int32(i), l}
		at, _ := slices.BinarySearchFunc(dst, c, better)
		if len(dst) == k {
			dst = dst[:k-1]
		}
		dst = slices.Insert(dst, at, c)
	}
	return dst
}

// logSumExp returns ln Σ exp(logit), in float64 beyond the exponentials; NaN if
// a logit is NaN or +Inf. scratch is as long as logits and overwritten.
func logSumExp(logits, scratch []float32) float64 {
	m := float32(math.Inf(-1))
	for _, l := range logits {
		if l > m {
			m = l
		} else if l != l {
			return math.NaN()
		}
	}
	if math.IsInf(float64(m), 0) {
		return math.NaN()
	}
	return float64(m) + math.Log(expSum(logits, scratch, m, 1))
}

// expSum fills scratch with exp((logit-shift)·scale) and returns the sum.
func expSum(logits, scratch []float32, shift, scale float32) float64 {
	scratch = scratch[:len(logits)]
	for i, l := range logits {
		// The vectorised exponential wants its argument above ln of the
		// smallest normal number; what lies below adds nothing.
		scratch[i] = max((l-shift)*scale, -87)
	}
	vek32.Exp_Inplace(scratch)
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(scratch); i += 4 {
		a += float64(scratch[i])
		b += float64(scratch[i+1])
		c += float64(scratch[i+2])
		d += float64(scratch[i+3])
	}
	for ; i < len(scratch); i++ {
		a += float64(scratch[i])
	}
	return a + b + c + d
}

// logprobs returns the token's own entry, then those of the k likeliest others,
// as vLLM's raw_logprobs: of the logits as the model gave them, before
// temperature, masks and penalties.
func (w *worker) logprobs(logits []float32, token int32, k int) []Logprob {
	lse := logSumExp(logits, w.probs)
	own, rank := logits[token], 0
	for _, l := range logits {
		if l >= own {
			rank++
		}
	}
	out := make([]Logprob, 1, k+1)
	out[0] = Logprob{Token: int(token), Value: min(float64(own)-lse, 0), Rank: max(rank, 1)}
	w.top = best(w.top, logits, k)
	for i, c := range w.top {
		if c.token != token {
			out = append(out, Logprob{Token: int(c.token), Value: min(float64(c.logit)-lse, 0), Rank: i + 1})
		}
	}
	return out
}
