package llama

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// promptTokens is "What is the capital of Norway?" from expected.json.
var promptTokens = []int32{1, 1168, 309, 265, 1383, 323, 487, 280, 92, 383, 36}

func promptRows(s *Seq) []Row {
	var rows []Row
	for i, id := range promptTokens {
		rows = append(rows, Row{Seq: s, Token: id, Pos: i, Logits: i == len(promptTokens)-1})
	}
	return rows
}

// forwardPrompt returns the logits after promptTokens.
func forwardPrompt(m *Model) []float32 {
	logits := make([]float32, m.Config().Vocab)
	m.Forward(promptRows(&Seq{Blocks: []int32{0}}), NewPool(m, 1), logits)
	return logits
}

// TestBatchAndChunkInvariance: the logits of a row are the same bits whatever
// else is in its step. The truth test allows a tolerance; this one none.
func TestBatchAndChunkInvariance(t *testing.T) {
	m := loadTiny(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	var prompts [][]int32
	for range 5 {
		ids := []int32{1}
		for range 1 + r.IntN(100) {
			ids = append(ids, int32(6+r.IntN(2042)))
		}
		prompts = append(prompts, ids)
	}
	runAll := func(together bool, chunk, cores int) [][][]float64 {
		var got [][][]float64
		b := newBench(m, 128)
		b.pool.crew.workers = b.pool.crew.workers[:min(cores, len(b.pool.crew.workers))]
		var sessions []*session
		for _, ids := range prompts {
			s := b.start(ids, len(ids))
			sessions = append(sessions, s)
			if !together {
				for b.step([]*session{s}, chunk) > 0 {
				}
			}
		}
		for together && b.step(sessions, chunk) > 0 {
		}
		for _, s := range sessions {
			got = append(got, s.got)
		}
		return got
	}
	want := runAll(false, 1000, 1)
	for _, chunk := range []int{1, 7, 32, 1000} {
		for _, together := range []bool{false, true} {
			got := runAll(together, chunk, 1000)
			for i := range want {
				for pos := range want[i] {
					if !slices.Equal(got[i][pos], want[i][pos]) {
						t.Fatalf("chunk %d, together %v: prompt %d differs at position %d", chunk, together, i, pos)
					}
				}
			}
		}
	}
}

// TestSharedBlocks: a sequence that takes over another's full blocks, or copies
// of them, computes the rest alone and gets the same truth.
func TestSharedBlocks(t *testing.T) {
	m := loadTiny(t, nil)
	tried := 0
	for i, p := range readTruth(t) {
		full := (len(p.IDs) - 1) / BlockSize
		if full == 0 {
			continue
		}
		tried++
		for _, copied := range []bool{false, true} {
			b := newBench(m, 11)
			first := b.start(p.IDs, room(p))
			b.step([]*session{first}, len(p.IDs))

			second := b.start(p.IDs[:len(p.IDs):len(p.IDs)], room(p))
			for k := range full {
				if copied {
					b.pool.CopyBlock(second.seq.Blocks[k], first.seq.Blocks[k])
				} else {
					second.seq.Blocks[k] = first.seq.Blocks[k]
				}
			}
			second.done = full * BlockSize
			b.finish([]*session{second}, []truthPrompt{p}, 7)
			compare(t, fmt.Sprintf("prompt %d, copied %v", i, copied), second, p, full*BlockSize)
		}
	}
	if tried < 4 {
		t.Fatalf("only %d prompts have a full block; the test needs more", tried)
	}
}

// TestStaleBlocks: what an earlier sequence left in a block is never read.
func TestStaleBlocks(t *testing.T) {
	m := loadTiny(t, nil)
	want := forwardPrompt(m)
	pool := NewPool(m, 2)
	for i := range pool.data {
		pool.data[i] = float32(math.NaN())
	}
	got := make([]float32, m.Config().Vocab)
	m.Forward(promptRows(&Seq{Blocks: []int32{1}}), pool, got)
	if !slices.Equal(got, want) {
		t.Error("NaN in unwritten places reached the logits")
	}
}

// TestOnePoolEach: engines that share a model do not disturb each other.
func TestOnePoolEach(t *testing.T) {
	m := loadTiny(t, nil)
	want := forwardPrompt(m)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if !slices.Equal(forwardPrompt(m), want) {
					t.Error("other logits beside another engine")
				}
			}
		})
	}
	wg.Wait()
}

func TestHooksAreCalled(t *testing.T) {
	var calls []string
	m := loadTiny(t, &Hooks{
		AttentionOutput: func(layer int, rows []Row, out []float32) {
			calls = append(calls, fmt.Sprint(layer, " ", len(rows), " ", len(out)))
		},
		Logits: func(rows []Row, logits []float32) {
			calls = append(calls, fmt.Sprint("logits ", len(rows), " ", len(logits)))
			clear(logits)
		},
	})
	got := forwardPrompt(m)
	// 11 prompt tokens, of which the last layer computes the one with logits.
	want := []string{"0 11 1408", "1 11 1408", "2 11 1408", "3 1 128", "logits 11 2048"}
	if !slices.Equal(calls, want) {
		t.Errorf("hooks saw %q, want %q", calls, want)
	}
	if slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Error("what the Logits hook wrote is not what Forward returned")
	}
}

// TestRowsWithoutLogits: a chunk that ends in the middle of a prompt has none, and
// leaves the keys and values that the next chunk needs.
func TestRowsWithoutLogits(t *testing.T) {
	m := loadTiny(t, nil)
	want := forwardPrompt(m)
	rows, pool := promptRows(&Seq{Blocks: []int32{0}}), NewPool(m, 1)
	got := make([]float32, m.Config().Vocab)
	m.Forward(rows[:4], pool, nil)
	m.Forward(rows[4:], pool, got)
	if !slices.Equal(got, want) {
		t.Error("other logits after a chunk without any")
	}
}

func TestAttentionHookReachesTheResult(t *testing.T) {
	healthy := forwardPrompt(loadTiny(t, nil))
	zeroed := forwardPrompt(loadTiny(t, &Hooks{AttentionOutput: func(_ int, _ []Row, out []float32) { clear(out) }}))
	if slices.Equal(healthy, zeroed) {
		t.Error("zeroing the attention output changes nothing")
	}
}

func TestForwardPanics(t *testing.T) {
	m := loadTiny(t, nil)
	pool := NewPool(m, 2)
	one := func(edit func(*Row)) []Row {
		r := Row{Seq: &Seq{ID: 7, Blocks: []int32{0, 1}}, Token: 6}
		edit(&r)
		return []Row{r}
	}
	seq := &Seq{ID: 8, Blocks: []int32{0}}
	for want, rows := range map[string][]Row{
		"no sequence":     one(func(r *Row) { r.Seq = nil }),
		"token 2048":      one(func(r *Row) { r.Token = 2048 }),
		"token -1":        one(func(r *Row) { r.Token = -1 }),
		"position 1024":   one(func(r *Row) { r.Pos = 1024 }),
		"needs 3 blocks":  one(func(r *Row) { r.Pos = 32 }),
		"block 2":         one(func(r *Row) { r.Seq.Blocks[1] = 2; r.Pos = 16 }),
		"logits has room": one(func(r *Row) { r.Logits = true }),
		"must ascend":     {{Seq: seq, Token: 6, Pos: 3}, {Seq: seq, Token: 6, Pos: 3}},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("panic %q, want one with %q", got, want)
				}
			}()
			m.Forward(rows, pool, nil)
		}()
	}
}

// TestProductOfAnySize holds the product against plain sums: sizes off vek's
// steps, more than one panel, more numbers than vek takes without goroutines.
func TestProductOfAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][2]int{{1, 1}, {33, 70}, {128, 352}, {2000, 65}, {100_001, 5}} {
		m := &matrix{in: size[0], out: size[1], w: make([]float32, size[0]*size[1])}
		x := make([]float32, m.in)
		for i := range m.w {
			m.w[i] = r.Float32() - 0.5
		}
		for i := range x {
			x[i] = r.Float32() - 0.5
		}
		got := make([]float32, m.out)
		for at := 0; at < m.out; at += m.panelOut() {
			product(got, x, m, span{0, 1}, span{at, min(at+m.panelOut(), m.out)})
		}
		for o := range got {
			want := 0.0
			for i, v := range x {
				want += float64(v) * float64(m.w[o*m.in+i])
			}
			// A float32 sum of n terms below 1/4 is off by at most n·(n/4)·2⁻²⁴ and
			// in practice by about √n of such steps.
			if limit := 1e-5 * math.Sqrt(float64(m.in)); !(math.Abs(float64(got[o])-want) <= limit) {
				t.Errorf("%d × %d: output %d is %g, want %g", m.in, m.out, o, got[o], want)
			}
		}
	}
}

// TestStepReusesScratch: a step of a size seen before allocates no buffers, only
// what starting goroutines takes.
func TestStepReusesScratch(t *testing.T) {
	m := loadTiny(t, nil)
	pool := NewPool(m, 64)
	var rows []Row
	for i := range 64 {
		rows = append(rows, Row{Seq: &Seq{Blocks: []int32{int32(i)}}, Token: 6, Logits: true})
	}
	logits := make([]float32, len(rows)*m.Config().Vocab)
	phases := 2 + 3*m.Config().Layers // each starts a goroutine for every core but one
	limit := phases * len(pool.crew.workers)
	if got := testing.AllocsPerRun(20, func() { m.Forward(rows, pool, logits) }); got > float64(limit) {
		t.Errorf("%v allocations a step, want at most %d", got, limit)
	}
}

// TestMemoryOfManySequences: 1,024 sequences of 200 tokens take the cache, 2 KiB
// a token in whole blocks, and little else. The project allows 200 MB beside the
// cache for the whole server; the model's part is held to 32.
func TestMemoryOfManySequences(t *testing.T) {
	const sequences, blocksEach = 1024, (200 + BlockSize - 1) / BlockSize
	m := loadTiny(t, nil)
	before := heap()
	pool := NewPool(m, sequences*blocksEach)
	if got, want := pool.BlockBytes(), BlockSize*2048; got != want {
		t.Errorf("a block takes %d bytes, want %d", got, want)
	}
	rows := make([]Row, sequences)
	for i := range rows {
		rows[i] = Row{Seq: &Seq{Blocks: []int32{int32(i * blocksEach)}}, Token: 6, Logits: true}
	}
	logits := make([]float32, sequences*m.Config().Vocab)
	m.Forward(rows, pool, logits)
	used := heap() - before - int64(pool.Blocks()*pool.BlockBytes())
	if used > 32<<20 {
		t.Errorf("%d MiB beside the cache, want at most 32", used>>20)
	}
	runtime.KeepAlive(pool)
	runtime.KeepAlive(logits)
}

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}
