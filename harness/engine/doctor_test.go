package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"strings"
	"testing"

	"touchstone/harness/exchange"
)

// quack is a server made of answers: no network, no model. What it lies about
// is set by its fields.
type quack struct {
	noSeed, noMinTokens, notGreedy, shifts, tempered, topK, noCache, hides bool

	n    int
	seen map[string]bool
}

func (q *quack) SetModel(string) {}

func (q *quack) Get(_ context.Context, path string) (int, string, []byte, error) {
	switch path {
	case "/v1/models":
		owner := "vllm"
		if q.hides {
			owner = ""
		}
		return 200, "application/json", fmt.Appendf(nil, `{"data":[{"id":"m","owned_by":%q,"max_model_len":400}]}`, owner), nil
	case "/version":
		return 200, "application/json", []byte(`{"version":"9"}`), nil
	case "/metrics":
		return 200, "text/plain", []byte("# HELP x\nvllm:a 1\nvllm:b{c=\"d\"} 2\npython_info 1\n"), nil
	}
	return 404, "", nil, nil
}

func (q *quack) Post(_ context.Context, path string, _ []byte) (int, string, []byte, error) {
	if path == "/tokenize" {
		return 200, "application/json", []byte(`{"tokens":[1,2,3]}`), nil
	}
	return 404, "", nil, nil
}

func (q *quack) Do(_ context.Context, r exchange.Request) *exchange.Exchange {
	q.n++
	prompt := r.Prompt
	for _, m := range r.Messages {
		prompt += m.Content
	}
	temperature, has := r.Params["temperature"]
	hot := !has || fmt.Sprint(temperature) != "0"
	seed := fmt.Sprint(r.Params["seed"])
	text := "yes"
	if hot && (q.noSeed || r.Params["seed"] == nil) || q.notGreedy {
		text = fmt.Sprint("draw", q.n)
	} else if hot {
		text = "draw" + seed
	}
	tokens := 1
	if n, ok := r.Params["max_tokens"].(int); ok && (r.Params["ignore_eos"] == true || r.Params["min_tokens"] != nil && !q.noMinTokens) {
		tokens = n
	}
	in := len(prompt)/4 + 5
	if r.PromptIDs != nil {
		in = len(r.PromptIDs)
	}
	if in > 400 && !q.shifts {
		return &exchange.Exchange{Request: r, Status: 400, ContentType: "application/json", Raw: []byte(`{"error":{"message":"too long"}}`),
			Failure: &exchange.Failure{Class: exchange.HTTPStatus, Detail: "too long"}}
	}
	hit := 0
	if q.seen == nil {
		q.seen = map[string]bool{}
	}
	if q.seen[prompt] && r.Params["cache_salt"] == nil && !q.noCache {
		hit = in
	}
	q.seen[prompt] = true
	reply := map[string]any{
		"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "token_ids": []int{5}, "prompt_token_ids": []int{1, 2},
			"message": map[string]any{"role": "assistant", "content": text}, "text": text, "logprobs": q.logprobs(r, hot)}},
		"usage": map[string]any{"prompt_tokens": min(in, 400), "completion_tokens": tokens, "total_tokens": min(in, 400) + tokens,
			"prompt_tokens_details": map[string]any{"cached_tokens": hit}},
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	if r.Stream {
		chunk := strings.Replace(string(raw), `"message"`, `"delta"`, 1)
		raw = []byte("data: " + chunk + "\n\ndata: [DONE]\n\n")
		return &exchange.Exchange{Request: r, Status: 200, ContentType: "text/event-stream", Raw: raw, Timeline: exchange.Timeline{Reads: []exchange.Read{{N: len(raw)}}}}
	}
	return &exchange.Exchange{Request: r, Status: 200, ContentType: "application/json", Raw: raw}
}

// logprobs lists as many tokens as were asked for, each half as likely as the
// one before. The drawn token is the 50th, unless the server cuts it off.
func (q *quack) logprobs(r exchange.Request, hot bool) any {
	k, ok := r.Params["top_logprobs"].(int)
	if !ok {
		return nil
	}
	flat := 1.0
	if q.tempered && hot {
		flat = 2
	}
	var top []any
	for i := range k {
		top = append(top, map[string]any{"token": fmt.Sprint("t", i), "logprob": -math.Ln2 * float64(i+1) / flat})
	}
	drawn := -math.Ln2
	if hot && !q.topK {
		drawn = -50 * math.Ln2
	}
	return map[string]any{"content": []any{map[string]any{"token": "t", "logprob": drawn, "top_logprobs": top}}}
}

func examine(t *testing.T, q *quack) Report {
	t.Helper()
	target, err := Find(t.Context(), q, "", Wait{})
	if err != nil {
		t.Fatal(err)
	}
	return Examine(t.Context(), q, target)
}

func TestDoctorOnAnHonestServer(t *testing.T) {
	r := examine(t, &quack{})
	for _, a := range r.Abilities {
		want := exchange.Present
		if a.Capability == exchange.CapCacheReset || a.Capability == exchange.CapPromptLogprobs {
			want = exchange.Absent
		}
		if a.State != want {
			t.Errorf("%s is %s (%s), want %s", a.Capability, a.State, a.Detail, want)
		}
		if a.Without == "" {
			t.Errorf("%s doesn't say what can't be checked without it", a.Capability)
		}
	}
	if r.Target.Engine != "vllm" || r.Target.Version != "9" || r.Metrics != "vllm" || r.Template == "" || r.Tokenizer == "" {
		t.Errorf("identity: %+v", r)
	}
	if !strings.HasPrefix(r.Logprobs, "raw") {
		t.Errorf("log-probabilities are %q", r.Logprobs)
	}
}

func TestDoctorSeesLies(t *testing.T) {
	for name, c := range map[string]struct {
		q   quack
		cap exchange.Capability
	}{
		"seed":       {quack{noSeed: true}, exchange.CapSeed},
		"min_tokens": {quack{noMinTokens: true}, exchange.CapMinTokens},
	} {
		t.Run(name, func(t *testing.T) {
			r := examine(t, &c.q)
			if got := r.Target.Capabilities[c.cap]; got != exchange.Lies {
				t.Errorf("%s is %s, want lies", c.cap, got)
			}
		})
	}
	if r := examine(t, &quack{tempered: true}); !strings.HasPrefix(r.Logprobs, "after temperature") {
		t.Errorf("log-probabilities are %q", r.Logprobs)
	}
}

func TestDoctorWarns(t *testing.T) {
	const cache, greedy, samples, shift, cut = "prefix cache is on", "temperature of 0 is not greedy", "without a temperature", "twice the context window", "sampling defaults"
	for name, c := range map[string]struct {
		q    quack
		want []string
	}{
		"honest":           {quack{}, []string{cache, samples}},
		"no cache":         {quack{noCache: true}, []string{samples}},
		"0 is sampled":     {quack{notGreedy: true}, []string{cache, greedy, samples}},
		"context shift":    {quack{shifts: true}, []string{cache, samples, shift}},
		"top_k of its own": {quack{topK: true}, []string{cache, samples, cut}},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(examine(t, &c.q).Warnings, "\n")
			for _, w := range []string{cache, greedy, samples, shift, cut} {
				want := strings.Contains(strings.Join(c.want, "\n"), w)
				if strings.Contains(got, w) != want {
					t.Errorf("warned of %q: %v, want %v; all:\n%s", w, !want, want, got)
				}
			}
		})
	}
}

// Behind a proxy that hides who owns the model the answers are the same.
func TestDoctorBehindAProxy(t *testing.T) {
	open, hidden := examine(t, &quack{}), examine(t, &quack{hides: true})
	if fmt.Sprint(open.Abilities) != fmt.Sprint(hidden.Abilities) || open.Target.Engine != hidden.Target.Engine || open.Logprobs != hidden.Logprobs {
		t.Errorf("hidden: %+v\nopen: %+v", hidden, open)
	}
}

var _ Server = (*quack)(nil)

func TestExaminationsAreListed(t *testing.T) {
	listed := map[exchange.Capability]bool{}
	for _, c := range exchange.AllCapabilities() {
		listed[c] = true
	}
	for _, e := range examinations {
		if !listed[e.cap] {
			t.Errorf("%s is asked for and not listed", e.cap)
		}
	}
}
