package engine

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"touchstone/harness/exchange"
)

// neutral are the sampling fields that switch a server's hidden defaults off
// (generation_config.json, llama-server's min_p 0.05): without them "greedy"
// and "the model's own distribution" are somebody else's settings. No server
// knows all of them, and a strict one refuses a request for a single one.
var neutral = []struct {
	name  string
	value any
}{
	{"top_p", 1}, {"top_k", -1}, {"min_p", 0}, {"presence_penalty", 0}, {"frequency_penalty", 0},
	{"repetition_penalty", 1}, // vLLM, SGLang
	{"repeat_penalty", 1},     // llama.cpp
}

// askNeutral finds the fields that the server takes: all at once, or else one
// by one.
func askNeutral(ctx context.Context, s Server, api exchange.API) map[string]any {
	all := map[string]any{}
	for _, f := range neutral {
		all[f.name] = f.value
	}
	if s.Do(ctx, tiny(api, all)).Failure == nil {
		return all
	}
	taken := map[string]any{}
	for _, f := range neutral {
		if s.Do(ctx, tiny(api, map[string]any{f.name: f.value})).Failure == nil {
			taken[f.name] = f.value
		}
	}
	return taken
}

// tiny is the smallest request that generates.
func tiny(api exchange.API, params map[string]any) exchange.Request {
	r := exchange.Request{ID: "engine/" + string(api), Probe: "engine", API: api,
		Params: map[string]any{"max_tokens": 1, "temperature": 0}}
	if api == exchange.Chat {
		r.Messages = []exchange.Message{{Role: "user", Content: "Say yes."}}
	} else {
		r.Prompt = "Say yes."
	}
	maps.Copy(r.Params, params)
	if k, ok := r.Params["top_logprobs"]; ok && api == exchange.Completions {
		// Their form there: the number alone.
		delete(r.Params, "top_logprobs")
		r.Params["logprobs"] = k
	}
	return r
}

// question is one experiment: a request, and what its reply must hold for
// the capability to be there.
type question struct {
	cap    exchange.Capability
	api    exchange.API
	params map[string]any
	shape  func(*exchange.Request)
	holds  func(*exchange.Reply) bool
}

// either is asked on the chat endpoint, or on completions where there is none:
// a base model has no chat template.
const either exchange.API = ""

var questions = []question{
	{cap: exchange.CapChat, api: exchange.Chat, holds: always},
	{cap: exchange.CapCompletions, api: exchange.Completions, holds: always},
	{cap: exchange.CapTokenIDs, api: either, params: map[string]any{"return_token_ids": true}, holds: func(r *exchange.Reply) bool { return len(r.TokenIDs) > 0 }},
	{cap: exchange.CapPromptIDs, api: either, params: map[string]any{"return_token_ids": true}, holds: func(r *exchange.Reply) bool { return len(r.PromptTokenIDs) > 0 }},
	{cap: exchange.CapLogprobs, api: either, params: map[string]any{"logprobs": true, "top_logprobs": 2},
		holds: func(r *exchange.Reply) bool {
			return len(r.Tokens) > 0 && r.Tokens[0].Logprob != nil && len(r.Tokens[0].Top) > 1
		}},
	{cap: exchange.CapTokenPrompt, api: exchange.Completions,
		shape: func(r *exchange.Request) { r.Prompt, r.PromptIDs = "", []int{1, 2, 3} },
		holds: func(r *exchange.Reply) bool { return r.Usage == nil || r.Usage.Prompt == 3 }},
	{cap: exchange.CapStream, api: either, shape: stream, holds: func(r *exchange.Reply) bool { return r.Done }},
	{cap: exchange.CapStreamUsage, api: either, params: map[string]any{"stream_options": map[string]any{"include_usage": true}},
		shape: stream, holds: func(r *exchange.Reply) bool { return r.Usage != nil }},
	{cap: exchange.CapIgnoreEOS, api: either, params: map[string]any{"ignore_eos": true, "max_tokens": 40},
		holds: func(r *exchange.Reply) bool { return r.Usage != nil && r.Usage.Completion == 40 }},
}

func always(*exchange.Reply) bool   { return true }
func stream(r *exchange.Request)    { r.Stream = true }
func cached(r *exchange.Reply) bool { return r.Usage != nil && r.Usage.Cached != nil }
func refused(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests
}

// nulls says whether a token came back with a log-probability that is no
// number: null, and not a value below the server's floor.
func nulls(r *exchange.Reply) bool {
	return slices.ContainsFunc(r.Tokens, func(t exchange.Token) bool { return t.Logprob == nil && !t.Censored })
}

func known(s exchange.State) bool { return s != exchange.Unknown }

// ask fills in the capabilities. A request that the server refuses means
// absent; one that it accepts without the wanted effect means absent too,
// except where it promised the effect (see lies). A request that died leaves
// the capability unknown: that is the server's fault and no fact about it.
func ask(ctx context.Context, s Server, t *exchange.Target) {
	for _, q := range questions {
		if needs, ok := prerequisite(q, t); ok && !t.Can(needs) {
			// Absent as well, or as unknown: an endpoint that hangs would cost a
			// whole time-out for each further question.
			t.Capabilities[q.cap] = t.Capabilities[needs]
			continue
		}
		if q.api == either {
			q.api = generating(t)
		}
		r := tiny(q.api, q.params)
		if q.shape != nil {
			q.shape(&r)
		}
		x := s.Do(ctx, r)
		reply, failure := exchange.Decode(x)
		if q.cap == exchange.CapLogprobs && (exchange.SaysNaN(failure) || failure == nil && nulls(reply)) {
			t.NaNLogits = true
		}
		switch {
		case refused(x.Status):
			t.Capabilities[q.cap] = exchange.Absent
		case failure != nil:
			t.Capabilities[q.cap] = exchange.Unknown
		case q.holds(reply):
			t.Capabilities[q.cap] = exchange.Present
		case q.cap == exchange.CapIgnoreEOS:
			t.Capabilities[q.cap] = exchange.Lies
		default:
			t.Capabilities[q.cap] = exchange.Absent
		}
		if failure == nil {
			if cached(reply) {
				t.Capabilities[exchange.CapCachedTokens] = exchange.Present
			}
			if t.Fingerprint == "" {
				t.Fingerprint = reply.Fingerprint
			}
		}
	}
	if !known(t.Capabilities[exchange.CapCachedTokens]) {
		t.Capabilities[exchange.CapCachedTokens] = exchange.Absent
	}
	t.Capabilities[exchange.CapTokenize] = tokenizes(ctx, s, t)
	t.Neutral = map[string]any{}
	if t.Can(exchange.CapChat) || t.Can(exchange.CapCompletions) {
		t.Neutral = askNeutral(ctx, s, generating(t))
	}
}

// generating is the endpoint on which either kind of question is asked.
func generating(t *exchange.Target) exchange.API {
	if t.Capabilities[exchange.CapChat] == exchange.Absent {
		return exchange.Completions
	}
	return exchange.Chat
}

// prerequisite spares requests that can't succeed.
func prerequisite(q question, t *exchange.Target) (exchange.Capability, bool) {
	switch {
	case q.cap == exchange.CapStreamUsage:
		return exchange.CapStream, true
	case q.cap == exchange.CapTokenPrompt || q.api == either && generating(t) == exchange.Completions:
		return exchange.CapCompletions, true
	case q.api == either:
		return exchange.CapChat, true
	}
	return "", false
}

// tokenizes asks /tokenize in vLLM's form, then in llama.cpp's, and notes
// which one is understood.
func tokenizes(ctx context.Context, s Server, t *exchange.Target) exchange.State {
	for _, field := range []string{"prompt", "content"} {
		body, err := json.Marshal(map[string]any{"model": t.Model, field: "Say yes."})
		if err != nil {
			return exchange.Absent
		}
		status, _, reply, err := s.Post(ctx, exchange.Tokenize.Path(), body)
		var got struct {
			Tokens []int `json:"tokens"`
		}
		if err == nil && status == http.StatusOK && json.Unmarshal(reply, &got) == nil && len(got.Tokens) > 0 {
			t.TokenizeField = field
			return exchange.Present
		}
	}
	return exchange.Absent
}
