package llama

import "github.com/viterin/vek/vek32"

// panelLen bounds the numbers in a panel, 24 KB: it stays in a core's L1 cache
// beside the row that it is multiplied with.
const panelLen = 6 << 10

// A matrix multiplies row vectors: [rows × in] · [in × out]. It is stored as
// model files store it, [out × in], and cut into panels of outputs, so that a
// panel serves many rows while it is in cache and cores can share one row.
//
// An output is one dot product, computed the same way whatever the panel, the
// batch and the number of cores.
type matrix struct {
	in, out int
	w       []float32 // [out × in]
}

// panelOut is the number of outputs in a panel, the last one excepted.
func (m *matrix) panelOut() int { return min(max(panelLen/m.in, 4), m.out) }

func (m *matrix) panels() int { return (m.out + m.panelOut() - 1) / m.panelOut() }

// span returns the outputs [lo, hi) of a panel.
func (m *matrix) span(panel int) (lo, hi int) {
	lo = panel * m.panelOut()
	return lo, min(lo+m.panelOut(), m.out)
}

// mul sets dst, hi−lo numbers, to the outputs [lo, hi) for the row x.
//
// The product is vek's matrix · vector, weights first. Its matrix · matrix, row
// first, was the alternative. Measured in turns, 25 times each, on one core of a
// busy machine, over the tiny model's sizes: medians 22 to 31 GFLOP/s, against 20
// to 26, so the two are close, and what decides is that this one takes the
// weights as files store them: nothing is transposed, and a tied head and the
// embedding share their memory.
func (m *matrix) mul(dst, x []float32, lo, hi int) { dots(dst[:hi-lo], m.w[lo*m.in:hi*m.in], x) }

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
