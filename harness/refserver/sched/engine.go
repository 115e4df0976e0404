// Package sched is the reference server's engine: continuous batching with
// chunked prefill over a paged KV cache with prefix reuse, and sampling. It
// follows vLLM's V1 scheduler in what it does; one goroutine does all of it.
package sched

import (
	"context"
	"fmt"
	"log"
	"runtime/debug"
	"sync"
	"time"

	"touchstone/harness/refserver/llama"
)

// Model computes one step. Rows' keys and values go to the blocks of their
// sequences; logits is [k × Vocab], row-major, for the k rows that ask.
type Model interface {
	Vocab() int
	Forward(rows []llama.Row, logits []float32)
}

// Options sizes an engine. The zero value of a field takes its default.
type Options struct {
	MaxNumSeqs          int // sequences that run at a time; 256
	MaxNumBatchedTokens int // rows of a step; 2,048
	NumBlocks           int // blocks of the KV cache; required, and enough for MaxModelLen
	MaxModelLen         int // prompt and generated tokens of a sequence; required
	EOS                 []int
	// StepTime paces the engine: no step is shorter, but for what StepJitter
	// and Paces take off.
	StepTime    time.Duration
	PrefillTime time.Duration // added to StepTime for each prompt token of the step
	StepJitter  float64       // relative standard deviation of a step's length, which drifts
	Seed        int64         // of the jitter
	Paces       []Pace        // hooks on the clock, run in this order
}

// Stats is a snapshot of the engine, and its totals since the start.
type Stats struct {
	Running, Waiting      int
	BlocksUsed, NumBlocks int
	Preemptions           uint64
	Queries, Hits         uint64 // prompt tokens looked up in the prefix cache, and found
	Steps                 uint64
}

// Engine runs requests on a model.
type Engine struct {
	model      Model
	opt        Options
	promptRows int // rows of a step that may have logits for prompt_logprobs

	mu      sync.Mutex
	arrived []*Stream
	aborted []*Stream
	resets  []chan bool
	closed  bool
	failure error // why the engine died
	stats   Stats

	wake chan struct{}
	quit chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended

	// Everything below belongs to the engine's goroutine.
	blocks  *blocks
	waiting []*sequence // first come, first served; the preempted stand in front
	running []*sequence // in the order of admission
	step    batch
	logits  []float32
	workers []*worker
	total   Stats
	drift   drift
}

// WithDefaults fills in what is zero and holds the sizes against each other.
// Call it before a cache of NumBlocks is allocated; New does it again.
func (o Options) WithDefaults() (Options, error) {
	if o.MaxNumSeqs == 0 {
		o.MaxNumSeqs = 256
	}
	if o.MaxNumBatchedTokens == 0 {
		o.MaxNumBatchedTokens = 2048
	}
	switch need := BlocksFor(o.MaxModelLen); {
	case o.MaxNumSeqs < 1:
		return o, fmt.Errorf("max-num-seqs is %d, at least 1 is needed", o.MaxNumSeqs)
	case o.MaxNumBatchedTokens < 1:
		return o, fmt.Errorf("max-num-batched-tokens is %d, at least 1 is needed", o.MaxNumBatchedTokens)
	case o.MaxModelLen < 2:
		return o, fmt.Errorf("max-model-len is %d, at least 2 is needed: a prompt token and a generated one", o.MaxModelLen)
	case o.NumBlocks < need:
		return o, fmt.Errorf("num-blocks is %d: a sequence of max-model-len %d needs %d blocks of %d tokens; raise num-blocks or lower max-model-len",
			o.NumBlocks, o.MaxModelLen, need, llama.BlockSize)
	}
	return o, o.checkPace()
}

// New starts an engine.
func New(m Model, opt Options) (*Engine, error) {
	opt, err := opt.WithDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		model: m, opt: opt, promptRows: max(1, promptLogitBytes/4/m.Vocab()), blocks: newBlocks(opt.NumBlocks),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), drift: drift{seed: opt.Seed},
	}
	e.stats.NumBlocks = opt.NumBlocks
	e.total.NumBlocks = opt.NumBlocks
	go e.run()
	return e, nil
}

// BlocksFor is how many blocks hold so many tokens.
func BlocksFor(tokens int) int { return (tokens + llama.BlockSize - 1) / llama.BlockSize }

// Submit queues a request. The error is an *InvalidError when it can never run,
// and wraps ErrClosed when the engine is closed.
func (e *Engine) Submit(r *Request) (*Stream, error) {
	if err := r.check(e.model.Vocab(), e.opt.MaxModelLen); err != nil {
		return nil, err
	}
	s := &Stream{engine: e, wake: make(chan struct{}, 1), Submitted: time.Now()}
	s.seq = newSequence(r, s)
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.gone(); err != nil {
		return nil, err
	}
	e.arrived = append(e.arrived, s)
	e.stats.Waiting++
	e.signal()
	return s, nil
}

// gone says why no step will follow; nil while one may. e.mu is held.
func (e *Engine) gone() error {
	if e.failure != nil {
		return e.failure
	}
	if e.closed {
		return ErrClosed
	}
	return nil
}

// Err is nil while the engine lives.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone()
}

func (e *Engine) abort(s *Stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone() != nil {
		return // the goroutine ends every stream on its way out
	}
	e.aborted = append(e.aborted, s)
	e.signal()
}

// ResetPrefixCache forgets all cached prefixes. Like vLLM's it does nothing and
// returns false while a sequence holds blocks.
func (e *Engine) ResetPrefixCache() bool {
	answer := make(chan bool, 1)
	e.mu.Lock()
	if e.gone() != nil {
		e.mu.Unlock()
		return false
	}
	e.resets = append(e.resets, answer)
	e.signal()
	e.mu.Unlock()
	select {
	case ok := <-answer:
		return ok
	case <-e.done:
		return false
	}
}

// Stats returns the state after the last step.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// Close ends the engine after the step in hand; what still runs is aborted with
// ErrClosed. To drain, read all streams to their end first.
func (e *Engine) Close() {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.quit)
	}
	e.mu.Unlock()
	<-e.done
}

func (e *Engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run is the engine's goroutine. A panic of the model kills the engine, not the
// process: as in vLLM, whose server outlives its engine for long enough to say so.
func (e *Engine) run() {
	defer close(e.done)
	defer func() {
		err := ErrClosed
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine died: %v", p)
			log.Printf("%v\n%s", err, debug.Stack())
		}
		e.finishAll(err)
	}()
	for e.receive() {
		start := time.Now()
		if !e.schedule() {
			continue
		}
		e.forward()
		if !e.pace(start) {
			return
		}
		e.deliver(time.Now())
	}
}

// finishAll ends every stream, queued ones too.
func (e *Engine) finishAll(err error) {
	e.mu.Lock()
	e.closed, e.failure = true, err
	arrived := e.arrived
	e.arrived, e.aborted = nil, nil
	e.stats.Running, e.stats.Waiting, e.stats.BlocksUsed = 0, 0, 0
	e.mu.Unlock()
	for _, s := range arrived {
		s.end(err)
	}
	for _, list := range [][]*sequence{e.waiting, e.running} {
		for _, q := range list {
			q.stream.end(err)
		}
	}
}

// receive takes what callers left, and waits for it when there is nothing to
// run. It returns false when the engine is closed.
func (e *Engine) receive() bool {
	for {
		e.mu.Lock()
		closed, resets := e.closed, e.resets
		for _, s := range e.arrived {
			e.waiting = append(e.waiting, s.seq)
		}
		for _, s := range e.aborted {
			e.drop(s)
		}
		clear(e.arrived)
		clear(e.aborted)
		e.arrived, e.aborted, e.resets = e.arrived[:0], e.aborted[:0], nil
		e.publish()
		e.mu.Unlock()
		for _, answer := range resets {
			answer <- e.blocks.reset()
		}
		if closed {
			return false
		}
		if len(e.waiting)+len(e.running) > 0 {
			return true
		}
		select {
		case <-e.wake:
		case <-e.quit:
		}
	}
}

// publish makes the goroutine's counts the visible ones. e.mu is held.
func (e *Engine) publish() {
	e.total.Running, e.total.Waiting = len(e.running), len(e.waiting)+len(e.arrived)
	e.total.BlocksUsed = e.blocks.used()
	e.stats = e.total
}

// drop takes an aborted sequence out, wherever it stands.
func (e *Engine) drop(s *Stream) {
	for _, list := range []*[]*sequence{&e.waiting, &e.running} {
		for i, q := range *list {
			if q.stream == s {
				*list = append((*list)[:i], (*list)[i+1:]...)
				e.blocks.release(q.Blocks)
				q.Blocks = nil
				s.end(context.Canceled)
				return
			}
		}
	}
}

// pace waits until the step has lasted as long as it has to; false when the
// engine is closed meanwhile.
func (e *Engine) pace(start time.Time) bool {
	length := e.length(e.step.describe(), time.Since(start), start)
	rest := length - time.Since(start)
	if rest <= 0 {
		return true
	}
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.quit:
		return false
	}
}
