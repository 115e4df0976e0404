package sched

import (
	"errors"
	"fmt"
	"math"
)

// Request is one sequence to generate. Prompt is kept, not copied.
type Request struct {
	Prompt    []int
	MaxTokens int  // tokens to generate at most, at least 1
	MinTokens int  // until so many are generated, end tokens cannot be drawn
	IgnoreEOS bool // an end token is a token like any other
	Sampling  Sampling
	// Logprobs asks for the log-probability of each generated token and of so
	// many likeliest ones beside it; nil asks for none, 0 for the token's alone.
	Logprobs *int
	// PromptLogprobs asks the same of the prompt's tokens. Such a request does
	// not read the prefix cache, as in vLLM: a cached token has no logits.
	PromptLogprobs *int
	// CacheSalt parts prefix caches: blocks are shared under the same salt only.
	CacheSalt string
	// Quiet wakes the reader once, when the request has finished, instead of at
	// every token.
	Quiet bool
}

// Sampling says how a token is drawn from the logits of a position.
type Sampling struct {
	Temperature float64 // 0 takes the likeliest token, the lowest id on ties
	TopK        int     // 0 or -1: all
	TopP        float64 // 1: all
	Seed        *int64  // nil: another draw each time
}

// MinTemperature is the lowest temperature that samples. vLLM raises
// 0 < temperature < 0.01 to it (vllm/sampling_params.py, _MAX_TEMP), so that
// the division by it cannot overflow.
const MinTemperature = 0.01

// InvalidError refuses a request that can never run.
type InvalidError struct {
	Field  string // as the API calls it: prompt, max_tokens, …
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// ErrClosed is the answer to a request that an engine has no more time for.
var ErrClosed = errors.New("the engine is closed")

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// check holds a request against an engine's limits.
func (r *Request) check(vocab, maxLen int) error {
	switch s := r.Sampling; {
	case len(r.Prompt) == 0:
		return invalid("prompt", "has no tokens, at least 1 is needed")
	case r.MaxTokens < 1:
		return invalid("max_tokens", "is %d, at least 1 is needed", r.MaxTokens)
	case len(r.Prompt)+r.MaxTokens > maxLen:
		return invalid("max_tokens", "is %d, which with %d tokens of the prompt exceeds the model's maximum context length of %d tokens; shorten either",
			r.MaxTokens, len(r.Prompt), maxLen)
	case r.MinTokens < 0 || r.MinTokens > r.MaxTokens:
		return invalid("min_tokens", "is %d, outside 0 to max_tokens (%d)", r.MinTokens, r.MaxTokens)
	case !(s.Temperature >= 0) || math.IsInf(s.Temperature, 1):
		return invalid("temperature", "is %v, it must be a number from 0", s.Temperature)
	case !(s.TopP > 0 && s.TopP <= 1):
		return invalid("top_p", "is %v, it must be above 0 and at most 1", s.TopP)
	case s.TopK < -1:
		return invalid("top_k", "is %d, it must be -1, 0 (both: all) or more", s.TopK)
	case r.Logprobs != nil && *r.Logprobs < 0:
		return invalid("logprobs", "is %d, it must be 0 or more", *r.Logprobs)
	case r.PromptLogprobs != nil && *r.PromptLogprobs < 0:
		return invalid("prompt_logprobs", "is %d, it must be 0 or more", *r.PromptLogprobs)
	}
	for i, id := range r.Prompt {
		if id < 0 || id >= vocab {
			return invalid("prompt", "has token id %d at position %d, outside the vocabulary of %d", id, i, vocab)
		}
	}
	return nil
}
