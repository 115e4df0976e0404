package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"strings"

	"touchstone/harness/exchange"
)

// Report is what a doctor says about a server.
type Report struct {
	Target    exchange.Target
	Template  string // hash of the token ids of fixed chats; empty: not told
	Tokenizer string // hash of the token ids of a fixed text; empty: not told
	Logprobs  string // what the log-probabilities mean
	Metrics   string // the prefix of the names on /metrics; empty: none
	Abilities []Ability
	Warnings  []string // settings of the server that break comparisons
}

// Ability is a capability, what asking showed, and what can't be checked
// without it.
type Ability struct {
	Capability exchange.Capability
	State      exchange.State
	Detail     string
	Without    string
}

// without says what Touchstone can't check where a capability is missing.
var without = map[exchange.Capability]string{
	exchange.CapChat:           "every prompt that is a chat",
	exchange.CapCompletions:    "context at token level, control groups",
	exchange.CapTokenIDs:       "near-ties told from faults, answer by answer",
	exchange.CapPromptIDs:      "template and BOS, id by id (the count is still compared)",
	exchange.CapLogprobs:       "context by distributions, near-ties, log-probability counts",
	exchange.CapPromptLogprobs: "teacher-forced comparison of fixed texts",
	exchange.CapTopLogprobs:    "distributions over 20 alternatives",
	exchange.CapTokenPrompt:    "prompts of an exact length",
	exchange.CapTokenize:       "the prompt's count against the tokenizer",
	exchange.CapStream:         "TTFT, TPOT, ITL",
	exchange.CapStreamUsage:    "tokens a second of streams, from the server's own count",
	exchange.CapIgnoreEOS:      "loads of fixed length",
	exchange.CapMinTokens:      "lower bounds of length",
	exchange.CapCachedTokens:   "whether a prefix cache helped",
	exchange.CapCacheBypass:    "cache hit against miss at will",
	exchange.CapCacheReset:     "a cold cache without a restart",
	exchange.CapSeed:           "sampled answers that can be repeated",
	exchange.CapMetrics:        "the server's own numbers beside the client's",
}

// examination asks for one more capability. It returns what it saw.
type examination struct {
	cap exchange.Capability
	ask func(patient, context.Context) (exchange.State, string)
}

// patient is the server under examination.
type patient struct {
	Server
	exchange.Target
	report *Report
}

var examinations = []examination{
	{exchange.CapTopLogprobs, patient.topLogprobs},
	{exchange.CapPromptLogprobs, patient.promptLogprobs},
	{exchange.CapMinTokens, patient.minTokens},
	{exchange.CapSeed, patient.seed},
	{exchange.CapCacheBypass, patient.cacheBypass},
	{exchange.CapCacheReset, patient.cacheReset},
	{exchange.CapMetrics, patient.metrics},
}

// Examine asks more of a server than a run needs: all capabilities, and the
// settings that break comparisons. It sends about 60 small requests, one at a
// time.
func Examine(ctx context.Context, s Server, t exchange.Target) Report {
	r := Report{Target: t}
	t.Capabilities = maps.Clone(t.Capabilities)
	p := patient{s, t, &r}
	details := map[exchange.Capability]string{}
	for _, e := range examinations {
		if ctx.Err() != nil {
			break
		}
		t.Capabilities[e.cap], details[e.cap] = e.ask(p, ctx)
	}
	r.Target.Capabilities = t.Capabilities
	for _, c := range exchange.AllCapabilities() {
		r.Abilities = append(r.Abilities, Ability{Capability: c, State: t.Capabilities[c], Detail: details[c], Without: without[c]})
	}
	p.identity(ctx)
	p.meaning(ctx)
	p.warn(ctx)
	return r
}

// try sends a request and returns its reply, or nil; refused says that the
// server would not have it.
func (p patient) try(ctx context.Context, q exchange.Request) (r *exchange.Reply, refusedIt bool) {
	x := p.Do(ctx, q)
	reply, failure := exchange.Decode(x)
	if failure != nil {
		return nil, refused(x.Status)
	}
	return reply, false
}

// state is the outcome of an experiment: died, refused, or what holds.
func state(r *exchange.Reply, refusedIt, holds bool) exchange.State {
	switch {
	case r == nil && refusedIt:
		return exchange.Absent
	case r == nil:
		return exchange.Unknown
	case holds:
		return exchange.Present
	}
	return exchange.Absent
}

// open is a prompt with many good continuations.
const open = "Tell me something about the sea."

func (p patient) asking(text string, params map[string]any) exchange.Request {
	q := tiny(exchange.Chat, params)
	if !p.Can(exchange.CapChat) {
		q = tiny(exchange.Completions, params)
		q.Prompt = text
		return q
	}
	q.Messages[0].Content = text
	return q
}

func (p patient) topLogprobs(ctx context.Context) (exchange.State, string) {
	r, no := p.try(ctx, p.asking(open, map[string]any{"logprobs": true, "top_logprobs": 20}))
	n := 0
	if r != nil && len(r.Tokens) > 0 {
		n = len(r.Tokens[0].Top)
	}
	return state(r, no, n >= 20), fmt.Sprintf("%d of 20 came back", n)
}

func (p patient) promptLogprobs(ctx context.Context) (exchange.State, string) {
	q := tiny(exchange.Completions, map[string]any{"prompt_logprobs": 1})
	r, no := p.try(ctx, q)
	return state(r, no, r != nil && len(r.Prompt) > 0), ""
}

func (p patient) minTokens(ctx context.Context) (exchange.State, string) {
	r, no := p.try(ctx, p.asking("Say yes.", map[string]any{"max_tokens": 40, "min_tokens": 40}))
	s := state(r, no, r != nil && r.Usage != nil && r.Usage.Completion == 40)
	if s == exchange.Absent && !no {
		return exchange.Lies, "accepted, and the reply is shorter"
	}
	return s, ""
}

// seed: a fixed seed repeats a sampled text, and other seeds change it.
func (p patient) seed(ctx context.Context) (exchange.State, string) {
	draw := func(seed int) (*exchange.Reply, bool) {
		return p.try(ctx, p.asking(open, map[string]any{"temperature": 1, "max_tokens": 16, "seed": seed}))
	}
	first, no := draw(1)
	if first == nil {
		return state(nil, no, false), ""
	}
	for range 3 {
		again, _ := draw(1)
		if again == nil {
			return exchange.Unknown, ""
		}
		if again.Answer() != first.Answer() {
			return exchange.Lies, "accepted, and the same seed gives other texts"
		}
	}
	for i := range 4 {
		if other, _ := draw(2 + i); other != nil && other.Answer() != first.Answer() {
			return exchange.Present, ""
		}
	}
	return exchange.Lies, "accepted, and every seed gives one text"
}

// long is a prompt of some hundred tokens: more than a block of any cache.
func long(n string) string {
	return "Story " + n + ". " + strings.Repeat("The ship left the harbour in the early morning and came back late at night. ", 8) + "What did the ship do?"
}

// cacheBypass: a prompt that was just seen is a hit, unless the request keeps
// the cache out.
func (p patient) cacheBypass(ctx context.Context) (exchange.State, string) {
	if !p.Can(exchange.CapCachedTokens) {
		return exchange.Unknown, "cached tokens are not told"
	}
	text := long("one")
	hits := func(params map[string]any) (int, bool) {
		r, _ := p.try(ctx, p.asking(text, params))
		if r == nil || r.Usage == nil || r.Usage.Cached == nil {
			return 0, false
		}
		return *r.Usage.Cached, true
	}
	if _, ok := hits(nil); !ok {
		return exchange.Unknown, ""
	}
	warm, ok := hits(nil)
	if !ok {
		return exchange.Unknown, ""
	}
	if warm == 0 {
		return exchange.Absent, "the prefix cache is off: nothing to bypass"
	}
	p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("the prefix cache is on: a prompt that was seen before had %d tokens from it", warm))
	for _, params := range []map[string]any{{"cache_salt": "touchstone-doctor"}, {"cache_prompt": false}} {
		if cold, ok := hits(params); ok && cold == 0 {
			for name := range params {
				return exchange.Present, name
			}
		}
	}
	return exchange.Absent, ""
}

func (p patient) cacheReset(ctx context.Context) (exchange.State, string) {
	for _, path := range []string{"/reset_prefix_cache", "/flush_cache"} {
		if status, _, _, err := p.Post(ctx, path, nil); err == nil && status == http.StatusOK {
			return exchange.Present, path
		}
	}
	return exchange.Absent, ""
}

func (p patient) metrics(ctx context.Context) (exchange.State, string) {
	prefix := metricsPrefix(ctx, p.Server)
	p.report.Metrics = prefix
	if prefix == "" {
		return exchange.Absent, ""
	}
	return exchange.Present, prefix + ":…"
}

// metricsPrefix is what the server's metrics are called by: "vllm", "sglang",
// "llamacpp".
func metricsPrefix(ctx context.Context, s Server) string {
	status, _, body, err := s.Get(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return ""
	}
	count := map[string]int{}
	for line := range strings.Lines(string(body)) {
		if prefix, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") && !strings.ContainsAny(prefix, "{ ") {
			count[prefix]++
		}
	}
	best := ""
	for prefix, n := range count {
		if best == "" || n > count[best] || n == count[best] && prefix < best {
			best = prefix
		}
	}
	return best
}

// identity hashes the token ids of fixed inputs: two servers with the same
// hash tokenise and template alike.
func (p patient) identity(ctx context.Context) {
	h := fnv.New64a()
	told := false
	for _, chat := range [][]exchange.Message{
		{{Role: "user", Content: "hi"}},
		{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "hi"}, {Role: "assistant", Content: "hello"}, {Role: "user", Content: "Grüße, 你好 👋"}},
	} {
		q := tiny(exchange.Chat, map[string]any{"return_token_ids": true})
		q.Messages = chat
		if r, _ := p.try(ctx, q); r != nil && r.PromptTokenIDs != nil {
			told = true
			fmt.Fprintln(h, r.PromptTokenIDs)
		}
	}
	if told {
		p.report.Template = fmt.Sprintf("%016x", h.Sum64())
	}
	if p.TokenizeField == "" {
		return
	}
	body, err := json.Marshal(map[string]any{"model": p.Target.Model, p.TokenizeField: "Grüße, 你好 👋 x = 3.14;\n\n\tif (a && b) return;"})
	if err != nil {
		return
	}
	if status, _, reply, err := p.Post(ctx, exchange.Tokenize.Path(), body); err == nil && status == http.StatusOK {
		var got struct {
			Tokens []int `json:"tokens"`
		}
		if json.Unmarshal(reply, &got) == nil && len(got.Tokens) > 0 {
			h := fnv.New64a()
			fmt.Fprintln(h, got.Tokens)
			p.report.Tokenizer = fmt.Sprintf("%016x", h.Sum64())
		}
	}
}
