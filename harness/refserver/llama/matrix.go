package llama

import "github.com/viterin/vek/vek32"

// panelLen bounds the numbers in a panel, 192 KB: it stays in a core's L2 cache
// while all rows of a tile are multiplied with it. A panel that fits into L1
// (24 KB) is slower, for its many short calls: 28 to 30 GFLOP/s on one core
// against 31 to 34, over the sizes of the tiny model.
const panelLen = 48 << 10

// A matrix multiplies row vectors: [rows × in] · [in × out]. It is stored as
// model files store it, [out × in], and taken in panels of outputs, so that a
// panel serves many rows while it is in cache and cores can share one row.
//
// An output is one dot product, computed the same way whatever the panel, the
// batch and the number of cores.
type matrix struct {
	in, out int
	w       []float32 // [out × in]
}

// columnStep divides where a panel, or a core's share of the columns, begins.
// vek computes 32 numbers at a time and what is left over one by one, and its
// division (by an approximate reciprocal) and its exponential round otherwise
// then: which numbers are left over must not depend on who shares the work.
const columnStep = 32

// panelOut is the number of outputs in a panel, the last one excepted.
func (m *matrix) panelOut() int { return max(panelLen/m.in/columnStep, 1) * columnStep }

// mul sets dst, a number an output, to some outputs for the row x.
//
// The product is vek's matrix · vector, weights first. Its matrix · matrix, row
// first, was the alternative. Measured in turns, 25 times each, on one core of a
// busy machine, over the tiny model's sizes: medians 22 to 31 GFLOP/s, against 20
// to 26, so the two are close, and what decides is that this one takes the
// weights as files store them: nothing is transposed, and a tied head and the
// embedding share their memory.
func (m *matrix) mul(dst, x []float32, cols span) {
	dots(dst[:cols.len()], m.w[cols.lo*m.in:cols.hi*m.in], x)
}

// dots sets dst[i] to rows[i] · x, for rows of len(x) numbers. From 100,000
// multiply-adds a call on vek would start goroutines of its own, beside the crew.
func dots(dst, rows, x []float32) {
	n := len(x)
	for most := max(99_999/n, 3); len(dst) > 0; {
		k := min(most, len(dst))
		vek32.MatMul_Into(dst[:k], rows[:k*n], x, n)
		dst, rows = dst[k:], rows[k*n:]
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
