package llama

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// runRows bounds the rows of a run: rows of one sequence that attend together,
// for whom the keys and values are gathered once.
const runRows = 16

// attentionWork is the number of multiply-adds of attention in one layer.
func (st *step) attentionWork() int {
	n := 0
	for _, r := range st.rows {
		n += r.Pos + 1
	}
	return n * 2 * st.model.config.QWidth()
}

// attention computes one run for some key and value heads and all query heads
// that share them: softmax(q·kᵀ/√d)·v, causal.
func (st *step) attention(task int, w *worker) {
	c := st.model.config
	run, n := st.runs[task/st.shares], c.KVHeads/st.shares
	heads := span{task % st.shares * n, (task%st.shares + 1) * n}
	longest := st.rows[run.hi-1]
	w.gather(st.pool, longest.Seq, st.layer, heads, longest.Pos+1)
	w.q = grown(w.q, c.HeadDim)
	w.s = grown(w.s, roundUp(longest.Pos+1, 8))
	for head := heads.lo; head < heads.hi; head++ {
		keys, values := w.gathered(head - heads.lo)
		for i := run.lo; i < run.hi; i++ {
			st.attend(i, head, keys, values, w)
		}
	}
}

// attend computes row i for the query heads of one key and value head.
func (st *step) attend(i, head int, keys, values []float32, w *worker) {
	c := st.model.config
	d, group := c.HeadDim, c.Heads/c.KVHeads
	scale := float32(1 / math.Sqrt(float64(d)))
	n := st.rows[i].Pos + 1
	q := row(st.qkv, i, c.QWidth()+2*c.KVWidth())[head*group*d:]
	out := row(st.att, i, c.QWidth())[head*group*d:]
	for h := range group {
		vek32.MulNumber_Into(w.q, q[h*d:(h+1)*d], scale)
		dots(w.s[:n], keys[:n*d], w.q)
		sum := expShifted(w.s, n)
		to := out[h*d : (h+1)*d]
		vek32.MatMul_Into(to, w.s[:n], values[:n*d], n)
		vek32.MulNumber_Inplace(to, 1/sum)
	}
}

// gather copies the first n keys and values of some heads out of their blocks.
// One product over them all beats one a block, even for a single row: a product
// of 16 tokens is over before its call is. What gathering costs is the wait for
// memory, so all heads are gathered at once: they stand side by side in a block,
// and the longer a stretch, the better the processor fetches ahead.
func (w *worker) gather(p *Pool, s *Seq, layer int, heads span, n int) {
	size := p.headLen()
	blocks := (n + BlockSize - 1) / BlockSize
	w.part = blocks * size
	w.kv = grown(w.kv, heads.len()*2*w.part)
	for b := range blocks {
		for h := heads.lo; h < heads.hi; h++ {
			to := w.kv[(h-heads.lo)*2*w.part+b*size:]
			copy(to[:size], p.keys(s.Blocks[b], layer, h))
			copy(to[w.part:][:size], p.values(s.Blocks[b], layer, h))
		}
	}
}

// gathered returns the keys and values of one of the gathered heads, each
// [tokens × headDim].
func (w *worker) gathered(i int) (keys, values []float32) {
	kv := w.kv[i*2*w.part:]
	return kv[:w.part], kv[w.part:][:w.part]
}

// expShifted replaces the first n scores by exp(score − largest) and returns
// their sum. s has room up to the next multiple of 8, vek's step; what stands
// beyond n is overwritten and not read.
func expShifted(s []float32, n int) float32 {
	vek32.SubNumber_Inplace(s[:n], vek32.Max(s[:n]))
	vek32.Exp_Inplace(s[:roundUp(n, 8)])
	return vek32.Sum(s[:n])
}
