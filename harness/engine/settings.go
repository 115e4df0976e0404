package engine

import (
	"context"
	"fmt"
	"maps"
	"math"

	"touchstone/harness/exchange"
)

// meaning finds out what the log-probabilities are: the model's own (raw), or
// those that were sampled from. At temperature 2 the two differ by far: the
// likeliest token's probability sinks. Where they don't move they are raw.
func (p patient) meaning(ctx context.Context) {
	if !p.Can(exchange.CapLogprobs) {
		p.report.Logprobs = "none"
		return
	}
	first := func(temperature float64) (map[string]float64, bool) {
		params := maps.Clone(p.Neutral)
		if params == nil {
			params = map[string]any{}
		}
		params["temperature"], params["logprobs"], params["top_logprobs"] = temperature, true, 5
		r, _ := p.try(ctx, p.asking(open, params))
		if r == nil || len(r.Tokens) == 0 {
			return nil, false
		}
		out := map[string]float64{}
		for _, a := range r.Tokens[0].Top {
			if a.Logprob != nil {
				out[a.Text] = *a.Logprob
			}
		}
		return out, len(out) > 0
	}
	cold, ok := first(0)
	hot, ok2 := first(2)
	if !ok || !ok2 {
		p.report.Logprobs = "unknown"
		return
	}
	moved, shared := 0.0, 0
	for t, l := range cold {
		if h, has := hot[t]; has {
			shared++
			moved = max(moved, math.Abs(l-h))
		}
	}
	switch {
	case shared == 0:
		p.report.Logprobs = "unknown: no token is listed at both temperatures"
	case moved < 0.25: // two steps of bfloat16, see parity.TieFloor
		p.report.Logprobs = "raw: the model's own, before temperature"
	default:
		p.report.Logprobs = fmt.Sprintf("after temperature: they moved by up to %.2f nats between 0 and 2", moved)
	}
}

// repeats is how often a request is sent to see whether its answer stays.
const repeats = 6

// warn looks for settings of the server that break comparisons.
func (p patient) warn(ctx context.Context) {
	distinct := func(params map[string]any) (n, asked int) {
		seen := map[string]bool{}
		for range repeats {
			q := p.asking(open, params)
			if _, has := params["temperature"]; !has {
				delete(q.Params, "temperature")
			}
			if r, _ := p.try(ctx, q); r != nil {
				asked++
				seen[r.Answer()] = true
			}
		}
		return len(seen), asked
	}
	say := func(format string, args ...any) {
		p.report.Warnings = append(p.report.Warnings, fmt.Sprintf(format, args...))
	}
	// One at a time, so that batching can't be the reason.
	if n, asked := distinct(map[string]any{"temperature": 0, "max_tokens": 16}); n > 1 {
		say("a temperature of 0 is not greedy, or the server is not deterministic: %d distinct answers of %d, sent one by one", n, asked)
	}
	if n, asked := distinct(map[string]any{"max_tokens": 16}); n > 1 {
		say("without a temperature the server samples (%d distinct answers of %d): a client that leaves the field out gets its defaults", n, asked)
	}
	p.hiddenDefaults(ctx, say)
	p.contextShift(ctx, say)
}

// hiddenDefaults: at temperature 5 a whole vocabulary is in reach, so that six
// draws of a token are hardly ever all among the five likeliest, unless top_k,
// top_p or min_p of the server's own cut the rest off.
func (p patient) hiddenDefaults(ctx context.Context, say func(string, ...any)) {
	if !p.Can(exchange.CapLogprobs) {
		return
	}
	inTop, asked := 0, 0
	for i := range 2 * repeats {
		r, _ := p.try(ctx, p.asking(open, map[string]any{"temperature": 5, "logprobs": true, "top_logprobs": 5, "seed": i}))
		if r == nil || len(r.Tokens) == 0 || r.Tokens[0].Logprob == nil {
			continue
		}
		asked++
		rank := 0
		for _, a := range r.Tokens[0].Top {
			if a.Logprob != nil && *a.Logprob > *r.Tokens[0].Logprob {
				rank++
			}
		}
		if rank < 4 {
			inTop++
		}
	}
	if asked > 0 && inTop == asked {
		say("sampling defaults of the server's own (top_k, top_p or min_p, as from generation_config) seem to be on: at temperature 5 all of %d draws were among the likeliest tokens; Touchstone sends neutral values where the server takes them", asked)
	}
}

// contextShift: a prompt over the window must be refused, not cut.
func (p patient) contextShift(ctx context.Context, say func(string, ...any)) {
	if p.MaxModelLen == 0 || p.MaxModelLen > 1<<17 {
		return
	}
	text := long("two")
	for len(text)/4 < 2*p.MaxModelLen {
		text += text
	}
	r, _ := p.try(ctx, p.asking(text, nil))
	if r == nil {
		return
	}
	told := "no count"
	if r.Usage != nil {
		told = fmt.Sprintf("prompt_tokens %d", r.Usage.Prompt)
	}
	say("a prompt of twice the context window is accepted (%s): it was cut or shifted, and nothing says so", told)
}
