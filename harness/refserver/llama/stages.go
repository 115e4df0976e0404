package llama

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// row returns row i of a [rows × width] buffer.
func row(buf []float32, i, width int) []float32 { return buf[i*width : (i+1)*width : (i+1)*width] }

func (st *step) embed(rows, _ span, _ *worker) {
	m, c := st.model, st.model.config
	for i := rows.lo; i < rows.hi; i++ {
		r := st.rows[i]
		copy(row(st.x, i, c.Width), row(m.embed, int(r.Token), c.Width))
		ropeAngles(row(st.turn, i, c.RopeDim), r.Pos, m.frequencies)
	}
}

// rmsNorm sets dst to x / √(mean(x²) + eps) · weight (Zhang & Sennrich, 2019).
func rmsNorm(dst, x, weight []float32, eps float64) {
	mean := float64(vek32.Dot(x, x)) / float64(len(x))
	vek32.MulNumber_Into(dst, x, float32(1/math.Sqrt(mean+eps)))
	vek32.Mul_Inplace(dst, weight)
}

func (st *step) attentionNorm(rows, _ span, _ *worker) {
	c := st.model.config
	for i := rows.lo; i < rows.hi; i++ {
		rmsNorm(row(st.h, i, c.Width), row(st.x, i, c.Width), st.model.layers[st.layer].attnNorm, c.RMSEps)
	}
}

func (st *step) ffnNorm(rows, _ span, _ *worker) {
	c := st.model.config
	for i := rows.lo; i < rows.hi; i++ {
		rmsNorm(row(st.h, i, c.Width), row(st.x, i, c.Width), st.model.layers[st.layer].ffnNorm, c.RMSEps)
	}
}

// finalNorm comes after keepPicked: all rows want logits.
func (st *step) finalNorm(rows, _ span, _ *worker) {
	c := st.model.config
	for i := rows.lo; i < rows.hi; i++ {
		rmsNorm(row(st.h, i, c.Width), row(st.x, i, c.Width), st.model.norm, c.RMSEps)
	}
}

// project computes some columns of the fused Q, K and V.
func (st *step) project(rows, cols span, _ *worker) {
	product(st.qkv, st.h, st.model.layers[st.layer].qkv, rows, cols)
}

func (st *step) toLogits(rows, cols span, _ *worker) {
	product(st.logits, st.h, st.model.head, rows, cols)
}

// product sets some columns of dst, [rows × out], to src, [rows × in], times m.
func product(dst, src []float32, m *matrix, rows, cols span) {
	for i := rows.lo; i < rows.hi; i++ {
		m.mul(row(dst, i, m.out)[cols.lo:cols.hi], row(src, i, m.in), cols)
	}
}

// add adds some columns of src · m to the residual stream.
func (st *step) add(src []float32, m *matrix, rows, cols span, w *worker) {
	w.out = grown(w.out, cols.len())
	for i := rows.lo; i < rows.hi; i++ {
		m.mul(w.out, row(src, i, m.in), cols)
		vek32.Add_Inplace(row(st.x, i, m.out)[cols.lo:cols.hi], w.out)
	}
}

func (st *step) addAttention(rows, cols span, w *worker) {
	st.add(st.att, st.model.layers[st.layer].out, rows, cols, w)
}

func (st *step) addDown(rows, cols span, w *worker) {
	st.add(st.act, st.model.layers[st.layer].down, rows, cols, w)
}

// gateUp computes some columns of SwiGLU (Shazeer, 2020): silu(h·gate) · (h·up),
// with silu(g) = g / (1 + exp(−g)).
func (st *step) gateUp(rows, cols span, w *worker) {
	gates, ups := st.model.layers[st.layer].gate, st.model.layers[st.layer].up
	n := cols.len()
	w.out = grown(w.out, 2*n)
	gate, up := w.out[:n], w.out[n:]
	for i := rows.lo; i < rows.hi; i++ {
		h, act := row(st.h, i, gates.in), row(st.act, i, gates.out)[cols.lo:cols.hi]
		gates.mul(gate, h, cols)
		ups.mul(up, h, cols)
		vek32.Neg_Into(act, gate)
		vek32.Exp_Inplace(act)
		vek32.AddNumber_Inplace(act, 1)
		vek32.Div_Inplace(gate, act)
		vek32.Mul_Into(act, gate, up)
	}
}

// rotateAndStore applies RoPE to the queries and keys of its rows and writes
// keys and values into their blocks.
func (st *step) rotateAndStore(rows, _ span, _ *worker) {
	c := st.model.config
	q, kv := c.QWidth(), c.KVWidth()
	for i := rows.lo; i < rows.hi; i++ {
		r := st.rows[i]
		all, turn := row(st.qkv, i, q+2*kv), row(st.turn, i, c.RopeDim)
		for h := 0; h < q+kv; h += c.HeadDim {
			rotate(all[h:h+c.HeadDim], turn)
		}
		block, at := r.Seq.Blocks[r.Pos/BlockSize], r.Pos%BlockSize
		for h := range c.KVHeads {
			copy(row(st.pool.keys(block, st.layer, h), at, c.HeadDim), all[q+h*c.HeadDim:])
			copy(row(st.pool.values(block, st.layer, h), at, c.HeadDim), all[q+kv+h*c.HeadDim:])
		}
	}
}

// rotate turns interleaved pairs: llama.cpp stores the rows of Q and K so that
// the numbers of a pair stand side by side. Numbers beyond the pairs stay.
func rotate(head, turn []float32) {
	head = head[:len(turn)]
	for i := 0; i+1 < len(head); i += 2 {
		a, b, cos, sin := head[i], head[i+1], turn[i], turn[i+1]
		head[i], head[i+1] = a*cos-b*sin, a*sin+b*cos
	}
}
