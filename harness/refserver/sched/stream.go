package sched

import (
	"context"
	"sync"
	"time"
)

// Finish says why a sequence ended; empty while it runs.
type Finish string

// The ways to end. Abort is the reader's own doing, or an engine that closed.
const (
	FinishStop   Finish = "stop"   // an end token was drawn
	FinishLength Finish = "length" // MaxTokens were generated
	FinishAbort  Finish = "abort"
)

// Output is one generated token.
type Output struct {
	Token    int
	Logprobs []Logprob // nil unless asked for: the token itself, then the likeliest
	At       time.Time // when the step that drew it ended
}

// Logprob is a candidate of a position.
type Logprob struct {
	Token int
	Value float64 // natural logarithm of its probability, of the raw logits; NaN when a logit is
	Rank  int     // how many candidates are as likely or likelier, itself included: 1 is the likeliest
}

// Batch is what a stream has to tell since the last call of Next.
type Batch struct {
	Outputs []Output
	Finish  Finish // set on the last batch
}

// Stream hands the tokens of one request to one reader. The engine never waits
// for a slow reader: tokens pile up, at most Request.MaxTokens of them.
type Stream struct {
	Submitted time.Time

	engine *Engine
	seq    *sequence
	wake   chan struct{} // holds one wake-up

	mu      sync.Mutex
	pending []Output
	finish  Finish
	err     error
	cached  int
	prompt  [][]Logprob
}

// Next waits until there are tokens, or the end, and returns them. The outputs
// are appended to buf[:0]; a caller that passes the last batch's outputs back
// saves the allocation. The error is the context's, or why the engine gave up;
// tokens drawn before that are returned with it.
func (s *Stream) Next(ctx context.Context, buf []Output) (Batch, error) {
	for {
		s.mu.Lock()
		if len(s.pending) > 0 || s.finish != "" {
			out := s.pending
			s.pending = buf[:0]
			b, err := Batch{Outputs: out, Finish: s.finish}, s.err
			s.mu.Unlock()
			return b, err
		}
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
}

// Cached is how many prompt tokens came from the prefix cache when the request
// was first admitted. It stands once a token has been read.
func (s *Stream) Cached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached
}

// PromptLogprobs has an entry for each prompt token, the first nil: nothing
// stands before it. It stands once a token has been read; nil unless asked for.
func (s *Stream) PromptLogprobs() [][]Logprob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

// Abort ends the request, if it still runs, and frees its blocks before the
// engine's next step.
func (s *Stream) Abort() { s.engine.abort(s) }

// push adds a token, and the end with it if finish is set.
func (s *Stream) push(out Output, finish Finish, quiet bool) {
	s.mu.Lock()
	s.pending = append(s.pending, out)
	s.finish = finish
	s.mu.Unlock()
	if finish != "" || !quiet {
		s.signal()
	}
}

// end closes a stream that drew no end of its own.
func (s *Stream) end(err error) {
	s.mu.Lock()
	if s.finish == "" {
		s.finish, s.err = FinishAbort, err
	}
	s.mu.Unlock()
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

func (s *Stream) setCached(n int) {
	s.mu.Lock()
	s.cached = n
	s.mu.Unlock()
}

func (s *Stream) setPrompt(p [][]Logprob) {
	s.mu.Lock()
	s.prompt = p
	s.mu.Unlock()
}
