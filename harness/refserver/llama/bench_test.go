package llama

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/viterin/vek/vek32"
)

// plainProduct is [256 × 128] · [128 × 352], the tiny model's gate for 256
// sequences, by vek's own product on all cores: what this machine's arithmetic
// can do without a model around it.
type plainProduct struct{ dst, x, y []float32 }

const plainFLOP = 2 * 256 * 128 * 352

func newPlainProduct() plainProduct {
	p := plainProduct{make([]float32, 256*352), make([]float32, 256*128), make([]float32, 128*352)}
	for i := range p.x {
		p.x[i] = float32(i%7) / 7
	}
	for i := range p.y {
		p.y[i] = float32(i%5) / 5
	}
	return p
}

func (p plainProduct) once() { vek32.MatMul_Into(p.dst, p.x, p.y, 128) }

// arithmetic is the rate of the plain product in FLOP/s, measured once for 300 ms.
var arithmetic = sync.OnceValue(func() float64 {
	p := newPlainProduct()
	start, n := time.Now(), 0
	for time.Since(start) < 300*time.Millisecond {
		p.once()
		n++
	}
	return float64(n) * plainFLOP / time.Since(start).Seconds()
})

func BenchmarkArithmetic(b *testing.B) {
	p := newPlainProduct()
	for b.Loop() {
		p.once()
	}
	b.ReportMetric(float64(b.N)*plainFLOP/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// flopPerToken counts the multiplications and additions of all matrices, and of
// attention over ctx tokens.
func flopPerToken(c Config, ctx int) float64 {
	layer := c.Width*(c.QWidth()+2*c.KVWidth()) + c.QWidth()*c.Width + 3*c.Width*c.FFN + 2*ctx*c.QWidth()
	return 2 * float64(c.Layers*layer+c.Width*c.Vocab)
}

// BenchmarkDecode decodes with contexts spread evenly over 64 to 191 tokens.
func BenchmarkDecode(b *testing.B) {
	m := loadTiny(b, nil)
	for _, n := range []int{1, 16, 256, 1024} {
		b.Run(fmt.Sprintf("sequences=%d", n), func(b *testing.B) {
			benchmarkDecode(b, m, n, 64, 191)
		})
	}
}

func benchmarkDecode(b *testing.B, m *Model, n, shortest, longest int) {
	const room = 192 / BlockSize
	pool := NewPool(m, n*room)
	rows := make([]Row, n)
	for i := range rows {
		s := &Seq{ID: uint64(i)}
		for k := range room {
			s.Blocks = append(s.Blocks, int32(k*n+i))
		}
		rows[i] = Row{Seq: s, Token: int32(6 + i%2000), Pos: shortest, Logits: true}
		if n > 1 {
			rows[i].Pos += i * (longest - shortest) / (n - 1)
		}
	}
	logits := make([]float32, n*m.Config().Vocab)
	m.Forward(rows, pool, logits)
	rate := arithmetic()
	b.ReportAllocs()
	for b.Loop() {
		m.Forward(rows, pool, logits)
	}
	ctx := 0
	for _, r := range rows {
		ctx += r.Pos + 1
	}
	tokens := float64(n) * float64(b.N) / b.Elapsed().Seconds()
	flop := tokens * flopPerToken(m.Config(), ctx/n)
	b.ReportMetric(tokens, "tok/s")
	b.ReportMetric(flop/1e9, "GFLOP/s")
	b.ReportMetric(flop/rate, "of-arithmetic")
}

// BenchmarkPrefill computes 32 prompts of 64 tokens in one step.
func BenchmarkPrefill(b *testing.B) {
	m := loadTiny(b, nil)
	const sequences, length = 32, 64
	pool := NewPool(m, sequences*length/BlockSize)
	var rows []Row
	for i := range sequences {
		s := &Seq{ID: uint64(i)}
		for k := range length / BlockSize {
			s.Blocks = append(s.Blocks, int32(i*length/BlockSize+k))
		}
		for pos := range length {
			rows = append(rows, Row{Seq: s, Token: int32(6 + (i*64+pos)%2000), Pos: pos, Logits: pos == length-1})
		}
	}
	logits := make([]float32, sequences*m.Config().Vocab)
	b.ReportAllocs()
	for b.Loop() {
		m.Forward(rows, pool, logits)
	}
	b.ReportMetric(float64(len(rows))*float64(b.N)/b.Elapsed().Seconds(), "tok/s")
}
