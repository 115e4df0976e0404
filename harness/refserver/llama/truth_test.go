package llama

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// truth is testdata/expected.json: float32 log-probabilities of the tiny model
// by Hugging Face transformers 5.24.0 (see "about" in the file).
type truth struct {
	Prompts []truthPrompt `json:"prompts"`
}

type truthPrompt struct {
	IDs       []int32 `json:"ids"`
	Positions []struct {
		Next *float64     `json:"next"`
		Top  [][2]float64 `json:"top"`
	} `json:"positions"`
	Greedy [][3]float64 `json:"greedy"` // token, log-probability, margin to the second
}

// tolerance is the project's bound on a log-probability, in nats. The measured
// difference is below 2e-5.
const tolerance = 1e-3

func readTruth(t testing.TB) []truthPrompt {
	t.Helper()
	data, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all truth
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Prompts) != 13 {
		t.Fatalf("testdata/expected.json has %d prompts, not 13", len(all.Prompts))
	}
	return all.Prompts
}

// A session is one sequence of a test: tokens in, log-probabilities out.
type session struct {
	seq    *Seq
	tokens []int32
	done   int         // tokens computed
	got    [][]float64 // log-probabilities after each computed token
}

// bench is a scheduler in small.
type bench struct {
	m     *Model
	pool  *Pool
	next  int32
	seqID uint64
}

func newBench(m *Model, blocks int) *bench { return &bench{m: m, pool: NewPool(m, blocks)} }

// start makes a sequence with room for n tokens. Blocks come in a scattered
// order, so that a wrong block table shows.
func (b *bench) start(tokens []int32, n int) *session {
	s := &session{seq: &Seq{ID: b.seqID}, tokens: tokens}
	b.seqID++
	for range (n + BlockSize - 1) / BlockSize {
		s.seq.Blocks = append(s.seq.Blocks, (b.next*7+3)%int32(b.pool.Blocks()))
		b.next++
	}
	return s
}

// step computes up to chunk tokens of each session in one batch.
func (b *bench) step(sessions []*session, chunk int) (computed int) {
	var rows []Row
	var owner []*session
	for _, s := range sessions {
		for range min(chunk, len(s.tokens)-s.done) {
			rows = append(rows, Row{Seq: s.seq, Token: s.tokens[s.done], Pos: s.done, Logits: true})
			owner = append(owner, s)
			s.done++
		}
	}
	v := b.m.Config().Vocab
	logits := make([]float32, len(rows)*v)
	b.m.Forward(rows, b.pool, logits)
	for i, s := range owner {
		s.got = append(s.got, logSoftmax(logits[i*v:(i+1)*v]))
	}
	return len(rows)
}

func logSoftmax(logits []float32) []float64 {
	largest, sum := math.Inf(-1), 0.0
	for _, x := range logits {
		largest = max(largest, float64(x))
	}
	for _, x := range logits {
		sum += math.Exp(float64(x) - largest)
	}
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = float64(x) - largest - math.Log(sum)
	}
	return out
}

func argmax(x []float64) int32 {
	best := 0
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	return int32(best)
}

// compare holds a session against the truth from position from on, and returns
// the largest difference in nats.
func compare(t *testing.T, name string, s *session, p truthPrompt, from int) float64 {
	t.Helper()
	worst := 0.0
	check := func(pos int, token int32, want float64) {
		diff := math.Abs(s.got[pos-from][token] - want)
		worst = max(worst, diff)
		if !(diff <= tolerance) {
			t.Errorf("%s: position %d, token %d: log-probability %.6f, want %.6f", name, pos, token, s.got[pos-from][token], want)
		}
	}
	for pos := from; pos < len(p.IDs); pos++ {
		at := p.Positions[pos]
		if at.Next != nil && pos+1 < len(p.IDs) {
			check(pos, p.IDs[pos+1], *at.Next)
		}
		for _, top := range at.Top {
			check(pos, int32(top[0]), top[1])
		}
	}
	for i, g := range p.Greedy {
		pos := len(p.IDs) - 1 + i
		check(pos, int32(g[0]), g[1])
		if got := argmax(s.got[pos-from]); got != int32(g[0]) {
			t.Errorf("%s: greedy token %d is %d, want %.0f (margin %.3f nats)", name, i, got, g[0], g[2])
		}
	}
	return worst
}

// extend feeds the next greedy token of the truth, until all are fed.
func extend(sessions []*session, prompts []truthPrompt) {
	for i, s := range sessions {
		p := prompts[i]
		if n := len(s.tokens) - len(p.IDs); s.done == len(s.tokens) && n < len(p.Greedy)-1 {
			s.tokens = append(s.tokens, int32(p.Greedy[n][0]))
		}
	}
}

func (b *bench) finish(sessions []*session, prompts []truthPrompt, chunk int) {
	for b.step(sessions, chunk) > 0 {
		extend(sessions, prompts)
	}
}

func room(p truthPrompt) int { return len(p.IDs) + len(p.Greedy) }

// TestTruth holds every position of every prompt, and the greedy continuations,
// against transformers, alone and in one batch, for several chunk sizes.
func TestTruth(t *testing.T) {
	prompts := readTruth(t)
	m := loadTiny(t, nil)
	for _, chunk := range []int{1, 7, 32, 1000} {
		t.Run(fmt.Sprintf("chunk=%d/alone", chunk), func(t *testing.T) {
			worst := 0.0
			for i, p := range prompts {
				b := newBench(m, 11)
				s := b.start(p.IDs[:len(p.IDs):len(p.IDs)], room(p))
				b.finish([]*session{s}, prompts[i:i+1], chunk)
				worst = max(worst, compare(t, fmt.Sprintf("prompt %d", i), s, p, 0))
			}
			t.Logf("largest difference %.2g nats", worst)
		})
		t.Run(fmt.Sprintf("chunk=%d/together", chunk), func(t *testing.T) {
			b := newBench(m, 97)
			var sessions []*session
			for _, p := range prompts {
				sessions = append(sessions, b.start(p.IDs[:len(p.IDs):len(p.IDs)], room(p)))
			}
			b.finish(sessions, prompts, chunk)
			worst := 0.0
			for i, p := range prompts {
				worst = max(worst, compare(t, fmt.Sprintf("prompt %d", i), sessions[i], p, 0))
			}
			t.Logf("largest difference %.2g nats", worst)
		})
	}
}
