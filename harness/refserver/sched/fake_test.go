package sched

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"touchstone/harness/refserver/llama"
)

// fake is a model whose next token depends on every token before it, as read
// back through the blocks: a block that is lost, shared wrongly or overwritten
// changes the answer.
type fake struct {
	t     *testing.T
	vocab int
	slots []int32 // the KV cache: the token that each slot belongs to
	gate  chan struct{}

	rows, seqs []int // of each step
	logits     func(rows []llama.Row, logits []float32)
}

func newFake(t *testing.T, blocks int) *fake {
	return &fake{t: t, vocab: 50, slots: make([]int32, blocks*llama.BlockSize)}
}

func (f *fake) Vocab() int { return f.vocab }

func (f *fake) slot(s *llama.Seq, pos int) *int32 {
	return &f.slots[int(s.Blocks[pos/llama.BlockSize])*llama.BlockSize+pos%llama.BlockSize]
}

func (f *fake) Forward(rows []llama.Row, logits []float32) {
	if f.gate != nil {
		<-f.gate
	}
	last := map[*llama.Seq]int{}
	for _, r := range rows {
		if p, ok := last[r.Seq]; ok && r.Pos != p+1 {
			f.t.Errorf("rows of one sequence: position %d follows %d", r.Pos, p)
		}
		last[r.Seq] = r.Pos
		*f.slot(r.Seq, r.Pos) = r.Token
	}
	f.rows, f.seqs = append(f.rows, len(rows)), append(f.seqs, len(last))
	k := 0
	for _, r := range rows {
		if !r.Logits {
			continue
		}
		var ids []int
		for p := 0; p <= r.Pos; p++ {
			ids = append(ids, int(*f.slot(r.Seq, p)))
		}
		copy(logits[k*f.vocab:], fakeLogits(ids, f.vocab))
		k++
	}
	if k*f.vocab != len(logits) {
		f.t.Errorf("logits of %d rows wanted, %d values given", k, len(logits))
	}
	if f.logits != nil {
		f.logits(rows, logits)
	}
}

func fakeLogits(ids []int, vocab int) []float32 {
	h := fnv.New64a()
	for _, id := range ids {
		h.Write([]byte{byte(id), byte(id >> 8)})
	}
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := make([]float32, vocab)
	for i := range out {
		out[i] = float32(r.NormFloat64() * 3)
	}
	return out
}

// greedy is what a sequence must become, whoever shares the engine.
func greedy(prompt []int, n, vocab int) []int {
	ids := append([]int(nil), prompt...)
	for range n {
		top, _ := argmax(fakeLogits(ids, vocab))
		ids = append(ids, int(top))
	}
	return ids[len(prompt):]
}

func prompt(seed, n int) []int {
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	ids := make([]int, n)
	for i := range ids {
		ids[i] = r.IntN(50)
	}
	return ids
}

func greedyRequest(ids []int, n int) *Request {
	return &Request{Prompt: ids, MaxTokens: n, Sampling: Sampling{TopP: 1}}
}

func start(t *testing.T, m Model, opt Options) *Engine {
	t.Helper()
	e, err := New(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func submit(t *testing.T, e *Engine, r *Request) *Stream {
	t.Helper()
	s, err := e.Submit(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// collect reads a stream to its end.
func collect(t *testing.T, s *Stream) ([]Output, Finish) {
	t.Helper()
	var all []Output
	for {
		b, err := s.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Outputs...)
		if b.Finish != "" {
			return all, b.Finish
		}
	}
}

func ids(out []Output) []int {
	var t []int
	for _, o := range out {
		t = append(t, o.Token)
	}
	return t
}

func background() context.Context { return context.Background() }
