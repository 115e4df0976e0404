package sched

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"touchstone/harness/refserver/llama"
)

func TestOutputsDoNotDependOnTheBatch(t *testing.T) {
	for name, opt := range map[string]Options{
		"alone":     {MaxNumSeqs: 1, NumBlocks: 64},
		"three":     {MaxNumSeqs: 3, NumBlocks: 64},
		"all":       {MaxNumSeqs: 256, NumBlocks: 400},
		"chunks":    {MaxNumBatchedTokens: 32, NumBlocks: 400},
		"one row":   {MaxNumBatchedTokens: 1, NumBlocks: 400},
		"few rows":  {MaxNumSeqs: 64, MaxNumBatchedTokens: 7, NumBlocks: 400},
		"preempted": {MaxNumSeqs: 64, NumBlocks: 14},
	} {
		t.Run(name, func(t *testing.T) {
			opt.MaxModelLen = 200
			m := newFake(t, opt.NumBlocks)
			e := start(t, m, opt)
			var streams []*Stream
			for i := range 40 {
				streams = append(streams, submit(t, e, greedyRequest(prompt(i, 1+i*3), 20+i%40)))
			}
			for i, s := range streams {
				out, finish := collect(t, s)
				if want := greedy(prompt(i, 1+i*3), 20+i%40, m.vocab); !slices.Equal(ids(out), want) {
					t.Fatalf("request %d: %v, want %v", i, ids(out), want)
				}
				if finish != FinishLength {
					t.Errorf("request %d ended with %q, want length", i, finish)
				}
			}
			st := e.Stats()
			if name == "preempted" && st.Preemptions == 0 {
				t.Error("no sequence was preempted: the case tests nothing")
			}
			if st.BlocksUsed != 0 || st.Running != 0 || st.Waiting != 0 {
				t.Errorf("left behind: %+v", st)
			}
			limit := opt.MaxNumBatchedTokens
			if limit == 0 {
				limit = 2048
			}
			if got := slices.Max(m.rows); got > limit {
				t.Errorf("a step of %d rows, the limit is %d", got, limit)
			}
			seats := opt.MaxNumSeqs
			if seats == 0 {
				seats = 256
			}
			if got := slices.Max(m.seqs); got > seats || seats < 40 && limit > 40 && name != "preempted" && got < seats {
				t.Errorf("a step of %d sequences at most, the limit is %d", got, seats)
			}
		})
	}
}

func TestPrefixCache(t *testing.T) {
	m := newFake(t, 64)
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200})
	p := prompt(1, 48)
	run := func(name string, r *Request, wantCached int) {
		t.Helper()
		s := submit(t, e, r)
		out, _ := collect(t, s)
		if want := greedy(r.Prompt, r.MaxTokens, m.vocab); !slices.Equal(ids(out), want) {
			t.Errorf("%s: %v, want %v", name, ids(out), want)
		}
		if s.Cached() != wantCached {
			t.Errorf("%s: %d cached tokens, want %d", name, s.Cached(), wantCached)
		}
	}
	run("cold", greedyRequest(p, 5), 0)
	// 48 tokens fill 3 blocks, but the last token is always computed.
	run("same prompt", greedyRequest(p, 5), 32)
	run("longer prompt", greedyRequest(append(slices.Clone(p), 7), 5), 48)
	run("other ending", greedyRequest(append(slices.Clone(p[:40]), 9, 9, 9, 9, 9, 9, 9, 9, 9), 5), 32)
	run("other beginning", greedyRequest(append([]int{p[0] ^ 1}, p[1:]...), 5), 0)

	// The third block stands in the cache behind another second one, and the
	// first two of this prompt do too: contents alone must not match.
	join := func(a, b []int) []int { return append(slices.Clone(a), b...) }
	run("other middle", greedyRequest(join(p[:16], prompt(2, 32)), 5), 16)
	run("known pieces, new order", greedyRequest(join(p[:16], join(prompt(2, 32)[:16], p[32:])), 5), 32)
	run("known pieces, longer", greedyRequest(join(join(p[:16], prompt(2, 32)[:16]), join(p[32:], []int{1})), 5), 48)
	run("shifted", greedyRequest(join(p[16:], p[:16]), 5), 0)

	salted := greedyRequest(p, 5)
	salted.CacheSalt = "a"
	run("salted, cold", salted, 0)
	run("salted, warm", salted, 32)
	other := greedyRequest(p, 5)
	other.CacheSalt = "b"
	run("other salt", other, 0)

	scored := greedyRequest(p, 5)
	zero := 0
	scored.PromptLogprobs = &zero
	run("prompt_logprobs", scored, 0)

	// Generated tokens are cached too: the prompt's 48, then 20.
	long := greedyRequest(p, 20)
	run("long", long, 32)
	run("conversation", greedyRequest(append(append(slices.Clone(p), greedy(p, 20, m.vocab)...), 3), 5), 64)

	st := e.Stats()
	if st.Hits == 0 || st.Queries <= st.Hits {
		t.Errorf("queries %d, hits %d", st.Queries, st.Hits)
	}
	if !e.ResetPrefixCache() {
		t.Fatal("an idle engine refused to reset its cache")
	}
	run("after the reset", greedyRequest(p, 5), 0)
}

func TestResetPrefixCacheRefusesWhileRunning(t *testing.T) {
	m := newFake(t, 64)
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200})
	answer := make(chan bool, 1)
	ask := sync.OnceFunc(func() { // in the middle of a step, so that blocks are held when it is answered
		go func() { answer <- e.ResetPrefixCache() }()
		for asked := false; !asked; runtime.Gosched() {
			e.mu.Lock()
			asked = len(e.resets) > 0
			e.mu.Unlock()
		}
	})
	m.logits = func([]llama.Row, []float32) { ask() }
	collect(t, submit(t, e, greedyRequest(prompt(1, 20), 3)))
	if <-answer {
		t.Error("the cache was reset while a sequence held blocks")
	}
}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	m := newFake(t, 64)
	m.gate = make(chan struct{})
	e := start(t, m, Options{MaxNumSeqs: 1, NumBlocks: 64, MaxModelLen: 200})
	a := submit(t, e, greedyRequest(prompt(1, 20), 2))
	m.gate <- struct{}{}
	b := submit(t, e, greedyRequest(prompt(2, 20), 2))
	c := submit(t, e, greedyRequest(prompt(3, 20), 2))
	if st := e.Stats(); st.Waiting < 1 {
		t.Errorf("one seat, three requests: %+v", st)
	}
	close(m.gate)
	var at []int64
	for _, s := range []*Stream{a, b, c} {
		out, _ := collect(t, s)
		at = append(at, out[0].At.UnixNano())
	}
	if !slices.IsSorted(at) {
		t.Errorf("first tokens out of order: %v", at)
	}
}

func TestEndsAndMinTokens(t *testing.T) {
	m := newFake(t, 64)
	p := prompt(5, 10)
	free := greedy(p, 12, m.vocab)
	eos := free[6] // the greedy continuation draws it as its seventh token at the latest
	at := slices.Index(free, eos)
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200, EOS: []int{eos}})

	out, finish := collect(t, submit(t, e, greedyRequest(p, 12)))
	if finish != FinishStop || !slices.Equal(ids(out), free[:at+1]) {
		t.Errorf("%v %q, want %v stop", ids(out), finish, free[:at+1])
	}
	r := greedyRequest(p, 12)
	r.IgnoreEOS = true
	if out, finish = collect(t, submit(t, e, r)); finish != FinishLength || !slices.Equal(ids(out), free) {
		t.Errorf("ignore_eos: %v %q, want %v length", ids(out), finish, free)
	}
	r = greedyRequest(p, 12)
	r.MinTokens = at + 3
	out, _ = collect(t, submit(t, e, r))
	if len(out) < at+3 || slices.Contains(ids(out)[:at+3], eos) {
		t.Errorf("min_tokens %d: %v holds the end token %d too early", at+3, ids(out), eos)
	}
	// An end token at the last place is an end, not a length.
	if _, finish = collect(t, submit(t, e, greedyRequest(p, at+1))); finish != FinishStop {
		t.Errorf("end token at max tokens: %q, want stop", finish)
	}
}

func TestLogprobsAreThoseOfTheRawLogits(t *testing.T) {
	m := newFake(t, 64)
	// Half of the vocabulary are end tokens, which min_tokens masks: that must
	// not show in the log-probabilities.
	var ends []int
	for id := range m.vocab / 2 {
		ends = append(ends, 2*id)
	}
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200, MaxNumBatchedTokens: 16, EOS: ends})
	p := prompt(6, 40)
	seed, k := int64(3), 4
	r := &Request{Prompt: p, MaxTokens: 8, MinTokens: 8, Sampling: Sampling{Temperature: 2, TopP: 0.9, TopK: 20, Seed: &seed}, Logprobs: &k, PromptLogprobs: &k}
	s := submit(t, e, r)
	out, _ := collect(t, s)
	check := func(where string, context []int, token int, got []Logprob) {
		t.Helper()
		want := exactLogprobs(fakeLogits(context, m.vocab))
		if got[0].Token != token || len(got) < k || len(got) > k+1 {
			t.Fatalf("%s: %v, want token %d first and %d candidates", where, got, token, k)
		}
		for _, c := range got {
			rank := 0
			for _, w := range want {
				if w >= want[c.Token] {
					rank++
				}
			}
			if math.Abs(c.Value-want[c.Token]) > 1e-5 || c.Rank != rank {
				t.Errorf("%s: %+v, want %.6f, rank %d", where, c, want[c.Token], rank)
			}
		}
	}
	all := slices.Clone(p)
	for i, o := range out {
		check("generated", all, o.Token, o.Logprobs)
		all = append(all, out[i].Token)
	}
	pl := s.PromptLogprobs()
	if len(pl) != len(p) || pl[0] != nil {
		t.Fatalf("%d entries for %d prompt tokens, the first %v", len(pl), len(p), pl[0])
	}
	for i := 1; i < len(p); i++ {
		check("prompt", p[:i], p[i], pl[i])
	}
	// The same seed draws the same tokens, in other company too.
	submit(t, e, greedyRequest(prompt(9, 30), 8))
	if again, _ := collect(t, submit(t, e, r)); !slices.Equal(ids(again), ids(out)) {
		t.Errorf("same seed: %v, then %v", ids(out), ids(again))
	}
}

// Many requests with prompt_logprobs share the room for logits of a step, and
// survive preemption without telling a position twice.
func TestPromptLogprobsUnderPressure(t *testing.T) {
	m := newFake(t, 9)
	m.gate = make(chan struct{})
	most := 0
	m.logits = func(_ []llama.Row, logits []float32) { most = max(most, len(logits)/m.vocab) }
	e := start(t, m, Options{NumBlocks: 9, MaxModelLen: 100})
	e.promptRows = 3
	zero := 0
	var streams []*Stream
	for i := range 6 {
		r := greedyRequest(prompt(i, 20), 30)
		r.PromptLogprobs = &zero
		streams = append(streams, submit(t, e, r))
	}
	close(m.gate)
	for i, s := range streams {
		out, _ := collect(t, s)
		if want := greedy(prompt(i, 20), 30, m.vocab); !slices.Equal(ids(out), want) {
			t.Errorf("request %d: %v, want %v", i, ids(out), want)
		}
		lp := s.PromptLogprobs()
		if len(lp) != 20 || lp[0] != nil {
			t.Fatalf("request %d: %d entries for 20 prompt tokens", i, len(lp))
		}
		for k := 1; k < 20; k++ {
			want := exactLogprobs(fakeLogits(prompt(i, 20)[:k], m.vocab))[prompt(i, 20)[k]]
			if math.Abs(lp[k][0].Value-want) > 1e-5 {
				t.Errorf("request %d, position %d: %v, want %v", i, k, lp[k][0].Value, want)
			}
		}
	}
	if limit := 3 + len(streams); most > limit {
		t.Errorf("%d rows of logits in a step, want at most %d", most, limit)
	}
	if e.Stats().Preemptions == 0 {
		t.Error("no sequence was preempted: the case tests nothing")
	}
}

func TestAbortFreesAtOnce(t *testing.T) {
	m := newFake(t, 64)
	m.gate = make(chan struct{})
	e := start(t, m, Options{MaxNumSeqs: 1, NumBlocks: 64, MaxModelLen: 200})
	running := submit(t, e, greedyRequest(prompt(1, 20), 100))
	m.gate <- struct{}{}
	queued := submit(t, e, greedyRequest(prompt(2, 20), 2))
	after := submit(t, e, greedyRequest(prompt(3, 20), 2))
	running.Abort()
	queued.Abort()
	close(m.gate)
	if _, finish := collect(t, after); finish != FinishLength {
		t.Errorf("the request behind the aborted ones ended with %q", finish)
	}
	for _, s := range []*Stream{running, queued} {
		var err error
		for b := (Batch{}); b.Finish == ""; {
			b, err = s.Next(t.Context(), nil)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("aborted: error %v", err)
		}
		s.Abort() // once more is nothing
	}
	if st := e.Stats(); st.BlocksUsed != 0 || st.Running+st.Waiting != 0 {
		t.Errorf("left behind: %+v", st)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	m := newFake(t, 64)
	m.gate = make(chan struct{})
	e := start(t, m, Options{MaxNumSeqs: 1, NumBlocks: 64, MaxModelLen: 200})
	a := submit(t, e, greedyRequest(prompt(1, 20), 100))
	b := submit(t, e, greedyRequest(prompt(2, 20), 100))
	m.gate <- struct{}{}
	close(m.gate)
	e.Close()
	for _, s := range []*Stream{a, b} {
		var err error
		for b := (Batch{}); b.Finish == ""; {
			b, err = s.Next(background(), nil)
		}
		if !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
	if _, err := e.Submit(greedyRequest(prompt(1, 20), 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed engine took a request: %v", err)
	}
	if e.ResetPrefixCache() {
		t.Error("a closed engine reset its cache")
	}
}

func TestModelPanicKillsTheEngineOnly(t *testing.T) {
	m := newFake(t, 64)
	m.logits = func([]llama.Row, []float32) { panic("out of cheese") }
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200})
	b, err := submit(t, e, greedyRequest(prompt(1, 20), 5)).Next(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "out of cheese") || b.Finish != FinishAbort {
		t.Errorf("got %v, %v", b, err)
	}
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "the engine died") {
		t.Errorf("Err is %v", err)
	}
}

func TestRefusals(t *testing.T) {
	m := newFake(t, 64)
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 100})
	minus := -1
	for want, change := range map[string]func(*Request){
		"prompt has no tokens":  func(r *Request) { r.Prompt = nil },
		"max_tokens is 0":       func(r *Request) { r.MaxTokens = 0 },
		"length of 100":         func(r *Request) { r.MaxTokens = 91 },
		"min_tokens is 6":       func(r *Request) { r.MinTokens = 6 },
		"temperature is -1":     func(r *Request) { r.Sampling.Temperature = -1 },
		"temperature is NaN":    func(r *Request) { r.Sampling.Temperature = math.NaN() },
		"top_p is 0":            func(r *Request) { r.Sampling.TopP = 0 },
		"top_k is -2":           func(r *Request) { r.Sampling.TopK = -2 },
		"logprobs is -1":        func(r *Request) { r.Logprobs = &minus },
		"prompt_logprobs is -1": func(r *Request) { r.PromptLogprobs = &minus },
		"prompt has token id 50 at position 3, outside the vocabulary of 50": func(r *Request) { r.Prompt[3] = 50 },
	} {
		r := greedyRequest(prompt(1, 10), 5)
		change(r)
		_, err := e.Submit(r)
		if bad, ok := errors.AsType[*InvalidError](err); !ok || !strings.HasPrefix(want, bad.Field) && bad.Field != "max_tokens" || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want an InvalidError with %q", err, want)
		}
	}
	for want, opt := range map[string]Options{
		"needs 7 blocks": {NumBlocks: 6, MaxModelLen: 100},
		"max-num-seqs":   {NumBlocks: 7, MaxModelLen: 100, MaxNumSeqs: -1},
		"max-num-batch":  {NumBlocks: 7, MaxModelLen: 100, MaxNumBatchedTokens: -1},
		"max-model-len":  {NumBlocks: 7},
		"step-time":      {NumBlocks: 7, MaxModelLen: 100, StepTime: -1},
	} {
		if _, err := New(m, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): %v, want %q", opt, err, want)
		}
	}
}

// No step is shorter than StepTime: the stamps of a sequence's tokens lie that
// far apart at least, however slow the machine.
func TestStepTimePaces(t *testing.T) {
	const pace = 5 * time.Millisecond
	e := start(t, newFake(t, 64), Options{NumBlocks: 64, MaxModelLen: 200, StepTime: pace})
	out, _ := collect(t, submit(t, e, greedyRequest(prompt(1, 20), 6)))
	for i := 1; i < len(out); i++ {
		if gap := out[i].At.Sub(out[i-1].At); gap < pace {
			t.Errorf("token %d came %v after the one before, the pace is %v", i, gap, pace)
		}
	}
}

// A quiet request wakes its reader once.
func TestQuietWakesOnce(t *testing.T) {
	m := newFake(t, 64)
	m.gate = make(chan struct{})
	e := start(t, m, Options{NumBlocks: 64, MaxModelLen: 200})
	r := greedyRequest(prompt(1, 20), 6)
	r.Quiet = true
	s := submit(t, e, r)
	for range 3 {
		m.gate <- struct{}{}
	}
	select {
	case <-s.wake:
		t.Error("woken before the end")
	default:
	}
	close(m.gate)
	if out, finish := collect(t, s); len(out) != 6 || finish != FinishLength {
		t.Errorf("%d tokens, %s", len(out), finish)
	}
}
