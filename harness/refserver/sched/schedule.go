package sched

import (
	"math/rand/v2"
	"slices"

	"touchstone/harness/refserver/llama"
)

// promptLogitBytes bounds the logits that prompt_logprobs may ask for in one
// step: with a vocabulary of 49,152 a whole chunk of 2,048 rows would take 400 MB.
const promptLogitBytes = 16 << 20

// sequence is a request on its way through the engine.
type sequence struct {
	llama.Seq
	req    *Request
	stream *Stream
	rng    *rand.Rand

	tokens   []int32 // the prompt, then what was generated
	computed int     // how many of them have their keys and values in Blocks
	keys     []key   // of the full blocks of tokens, as far as anybody asked
	root     key
	admitted bool
	// prompt is PromptLogprobs so far; it outlives a preemption.
	prompt [][]Logprob
}

func newSequence(r *Request, s *Stream) *sequence {
	q := &sequence{req: r, stream: s, rng: newRand(r.Sampling.Seed), root: rootKey(r.CacheSalt)}
	q.tokens = make([]int32, len(r.Prompt), len(r.Prompt)+r.MaxTokens)
	for i, id := range r.Prompt {
		q.tokens[i] = int32(id)
	}
	if r.PromptLogprobs != nil {
		q.prompt = make([][]Logprob, 1, len(r.Prompt))
	}
	return q
}

func (q *sequence) pending() int   { return len(q.tokens) - q.computed }
func (q *sequence) generated() int { return len(q.tokens) - len(q.req.Prompt) }

// keysFor returns the keys of the first n full blocks.
func (q *sequence) keysFor(n int) []key {
	for i := len(q.keys); i < n; i++ {
		parent := q.root
		if i > 0 {
			parent = q.keys[i-1]
		}
		q.keys = append(q.keys, chain(parent, q.tokens[i*llama.BlockSize:(i+1)*llama.BlockSize]))
	}
	return q.keys[:n]
}

// wantsPrompt tells whether the logits at pos are asked for, as those of the
// prompt token that follows. What was told before a preemption is not told again.
func (q *sequence) wantsPrompt(pos int) bool {
	return q.prompt != nil && pos+1 < len(q.req.Prompt) && pos+1 >= len(q.prompt)
}

// batch is one step: its rows, which share of them is whose, and which rows
// have logits.
type batch struct {
	rows   []llama.Row
	shares []share
	picks  []pick
	budget int // rows left
	prompt int // rows left whose logits are for prompt_logprobs
}

type share struct {
	seq *sequence
	n   int
}

// pick is a row with logits: of the prompt token after pos, or, with pos −1,
// of the token to draw.
type pick struct {
	seq      *sequence
	pos      int
	token    int32
	logprobs []Logprob
	finish   Finish
}

// schedule fills the next step and returns false when it is empty. Decoding
// sequences come first, one row each; then prompts that were begun; then new
// ones, first come, first served, as long as rows, seats and blocks last.
func (e *Engine) schedule() bool {
	b := &e.step
	clear(b.shares)
	clear(b.picks)
	b.rows, b.shares, b.picks = b.rows[:0], b.shares[:0], b.picks[:0]
	b.budget = e.opt.MaxNumBatchedTokens
	b.prompt = e.promptRows

	preempted := false
	for i := 0; i < len(e.running); i++ {
		if q := e.running[i]; q.pending() == 1 {
			ok, victims := e.grow(q)
			preempted = preempted || victims
			if ok {
				b.add(q)
			}
		}
	}
	for _, q := range e.running {
		if q.pending() > 1 && b.room(q) {
			b.add(q)
		}
	}
	// With blocks so short that somebody had to go, nobody new comes in.
	for !preempted && len(e.waiting) > 0 && len(e.running) < e.seats() && b.budget > 0 {
		q := e.waiting[0]
		if !b.room(q) || !e.admit(q) {
			break
		}
		e.waiting[0] = nil
		e.waiting = e.waiting[1:]
		e.running = append(e.running, q)
		b.add(q)
	}
	return len(b.rows) > 0
}

// seats is how many sequences run at a time. With no more of them than a step
// has rows, each of them gets a row in every step and none starves.
func (e *Engine) seats() int { return min(e.opt.MaxNumSeqs, e.opt.MaxNumBatchedTokens) }

// room tells whether the step can take a row of q that has logits for its prompt.
func (b *batch) room(q *sequence) bool { return b.prompt > 0 || !q.wantsPrompt(q.computed) }

// add gives q as many rows as it can use and the step has left.
func (b *batch) add(q *sequence) {
	n := 0
	for b.budget > 0 && n < q.pending() {
		pos := q.computed + n
		row := llama.Row{Seq: &q.Seq, Token: q.tokens[pos], Pos: pos}
		switch {
		case pos == len(q.tokens)-1:
			row.Logits = true
			b.picks = append(b.picks, pick{seq: q, pos: -1})
		case q.wantsPrompt(pos):
			row.Logits = true
			b.picks = append(b.picks, pick{seq: q, pos: pos})
			b.prompt--
		}
		b.rows = append(b.rows, row)
		b.budget--
		n++
		if b.prompt == 0 && q.wantsPrompt(pos+1) {
			break
		}
	}
	if n > 0 {
		b.shares = append(b.shares, share{q, n})
	}
}

// grow gives q the block that its next token needs. When none is free the
// newest sequence goes back to the queue, and is computed again later; that may
// be q itself.
func (e *Engine) grow(q *sequence) (ok, victims bool) {
	for q.computed/llama.BlockSize >= len(q.Blocks) {
		if id, ok := e.blocks.alloc(); ok {
			q.Blocks = append(q.Blocks, id)
			continue
		}
		// The newest stands last, so it has no rows in this step yet: rows are
		// given in the order of running, and q is not behind it.
		victim := e.running[len(e.running)-1]
		e.running[len(e.running)-1] = nil
		e.running = e.running[:len(e.running)-1]
		e.preempt(victim)
		victims = true
		if victim == q {
			return false, true
		}
	}
	return true, victims
}

func (e *Engine) preempt(q *sequence) {
	e.blocks.release(q.Blocks)
	q.Blocks, q.computed = nil, 0
	e.waiting = slices.Insert(e.waiting, 0, q)
	e.total.Preemptions++
}

// admit gives q the blocks of all its tokens, cached ones where it may, and
// returns false when there are too few. The last token is always computed: its
// logits are not in the cache.
func (e *Engine) admit(q *sequence) bool {
	var hit []int32
	idle := 0
	if q.prompt == nil {
		hit, idle = e.blocks.lookup(q.keysFor((len(q.tokens) - 1) / llama.BlockSize))
	}
	fresh := BlocksFor(len(q.tokens)) - len(hit)
	if fresh > e.blocks.free-idle {
		return false
	}
	for _, id := range hit {
		e.blocks.share(id)
	}
	q.Blocks = append(make([]int32, 0, BlocksFor(cap(q.tokens))), hit...)
	for range fresh {
		id, _ := e.blocks.alloc()
		q.Blocks = append(q.Blocks, id)
	}
	q.computed = len(hit) * llama.BlockSize
	if !q.admitted {
		q.admitted = true
		q.stream.setCached(q.computed)
		if q.prompt == nil {
			e.total.Queries += uint64(len(q.tokens))
			e.total.Hits += uint64(q.computed)
		}
	}
	return true
}
