package sched

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"touchstone/harness/refserver/llama"
)

// parallelPicks is how many rows of logits are worth a second goroutine.
const parallelPicks = 8

// forward computes the step and draws its tokens.
func (e *Engine) forward() {
	vocab := e.model.Vocab()
	picks := e.step.picks
	e.logits = slices.Grow(e.logits[:0], len(picks)*vocab)[:len(picks)*vocab]
	e.model.Forward(e.step.rows, e.logits)

	n := min(runtime.GOMAXPROCS(0), 1+len(picks)/parallelPicks)
	for len(e.workers) < n {
		e.workers = append(e.workers, newWorker(vocab))
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	draw := func(w *worker) {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(picks) {
				return
			}
			e.pick(w, &picks[i], e.logits[i*vocab:(i+1)*vocab])
		}
	}
	for _, w := range e.workers[1:n] {
		wg.Go(func() { draw(w) })
	}
	draw(e.workers[0])
	wg.Wait()
}

// pick draws the token of a row, or looks up the prompt's, with what was asked
// for about it. Each row has another sequence or another position of one, so
// rows are picked concurrently.
func (e *Engine) pick(w *worker, p *pick, logits []float32) {
	r := p.seq.req
	if p.pos >= 0 {
		p.token = p.seq.tokens[p.pos+1]
		p.logprobs = w.logprobs(logits, p.token, *r.PromptLogprobs)
		return
	}
	p.token = w.sample(e.mask(w, p.seq, logits), r.Sampling, p.seq.rng)
	if r.Logprobs != nil {
		p.logprobs = w.logprobs(logits, p.token, *r.Logprobs)
	}
}

// mask forbids end tokens until MinTokens are generated. Log-probabilities are
// those of the raw logits, so the mask is put on a copy.
func (e *Engine) mask(w *worker, q *sequence, logits []float32) []float32 {
	if q.generated() >= q.req.MinTokens {
		return logits
	}
	m := append(w.masked[:0], logits...)
	w.masked = m
	for _, id := range e.opt.EOS {
		m[id] = float32(math.Inf(-1))
	}
	return m
}

// deliver books the step: computed tokens, full blocks, drawn tokens and ends.
func (e *Engine) deliver(at time.Time) {
	e.total.Steps++
	for _, s := range e.step.shares {
		q := s.seq
		was := q.computed / llama.BlockSize
		q.computed += s.n
		if now := q.computed / llama.BlockSize; now > was {
			keys := q.keysFor(now)
			for i := was; i < now; i++ {
				e.blocks.publish(q.Blocks[i], keys[i])
			}
		}
	}
	e.settle()
	e.mu.Lock()
	e.publish() // before the streams tell, so that a reader of the end finds it counted
	e.mu.Unlock()
	for i := range e.step.picks {
		if p := &e.step.picks[i]; p.pos < 0 {
			out := Output{Token: int(p.token), Logprobs: p.logprobs, At: at}
			p.seq.stream.push(out, p.finish, p.seq.req.Quiet)
		}
	}
}

// settle puts what the step picked into its sequences and frees those that end.
func (e *Engine) settle() {
	ended := false
	for i := range e.step.picks {
		p := &e.step.picks[i]
		q := p.seq
		if p.pos >= 0 {
			q.prompt = append(q.prompt, p.logprobs)
			continue
		}
		q.tokens = append(q.tokens, p.token)
		if q.generated() == 1 && q.prompt != nil {
			q.stream.setPrompt(q.prompt)
		}
		if p.finish = e.finish(q, p.token); p.finish != "" {
			ended = true
			e.blocks.release(q.Blocks)
			q.Blocks = nil
		}
	}
	if ended {
		e.running = slices.DeleteFunc(e.running, func(q *sequence) bool { return q.Blocks == nil })
	}
}

// finish tells whether the token just drawn is the last one: an end token is
// one before the length is, as in vLLM's check_stop.
func (e *Engine) finish(q *sequence, token int32) Finish {
	n := q.generated()
	switch {
	case !q.req.IgnoreEOS && n >= q.req.MinTokens && slices.Contains(e.opt.EOS, int(token)):
		return FinishStop
	case n >= q.req.MaxTokens:
		return FinishLength
	}
	return ""
}
