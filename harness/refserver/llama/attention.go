package llama

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// runRows bounds the rows of a run.
const runRows = 16

// A run is [lo, hi), rows of one sequence that attend together: the keys and
// values are gathered once for all of them.
type run struct{ lo, hi int }

// attentionWork is the number of multiply-adds of attention in one layer.
func (st *step) attentionWork() int {
	n := 0
	for _, r := range st.rows {
		n += r.Pos + 1
	}
	return n * 2 * st.model.config.QWidth()
}

// attention computes one run for one key and value head and all query heads
// that share it: softmax(q·kᵀ/√d)·v, causal.
func (st *step) attention(task int, w *worker) {
	c := st.model.config
	run, head := st.runs[task/c.KVHeads], task%c.KVHeads
	d, group := c.HeadDim, c.Heads/c.KVHeads
	longest := st.rows[run.hi-1]
	w.gather(st.pool, longest.Seq, st.layer, head, longest.Pos+1)
	w.q = grown(w.q, d)
	w.s = grown(w.s, roundUp(longest.Pos+1, 8))

	scale := float32(1 / math.Sqrt(float64(d)))
	for i := run.lo; i < run.hi; i++ {
		n := st.rows[i].Pos + 1
		q := row(st.qkv, i, c.QWidth()+2*c.KVWidth())[head*group*d:]
		out := row(st.att, i, c.QWidth())[head*group*d:]
		for h := range group {
			vek32.MulNumber_Into(w.q, q[h*d:(h+1)*d], scale)
			dots(w.s[:n], w.k[:n*d], w.q)
			sum := expShifted(w.s, n)
			to := out[h*d : (h+1)*d]
			vek32.MatMul_Into(to, w.s[:n], w.v[:n*d], n)
			vek32.MulNumber_Inplace(to, 1/sum)
		}
	}
}

// gather copies the first n keys and values of a head out of their blocks,
// [n × headDim] each. One product over them all beats one a block, even for a
// single row: a product of 16 tokens is over before its call is.
func (w *worker) gather(p *Pool, s *Seq, layer, head, n int) {
	d, size := p.config.HeadDim, p.headLen()
	w.k, w.v = grown(w.k, roundUp(n, BlockSize)*d), grown(w.v, roundUp(n, BlockSize)*d)
	for b := range (n + BlockSize - 1) / BlockSize {
		copy(w.k[b*size:], p.keys(s.Blocks[b], layer, head))
		copy(w.v[b*size:], p.values(s.Blocks[b], layer, head))
	}
}

// expShifted replaces the first n scores by exp(score − largest) and returns
// their sum. s has room up to the next multiple of 8, vek's step; what stands
// beyond n is overwritten and not read.
func expShifted(s []float32, n int) float32 {
	vek32.SubNumber_Inplace(s[:n], vek32.Max(s[:n]))
	vek32.Exp_Inplace(s[:roundUp(n, 8)])
	return vek32.Sum(s[:n])
}
