package fit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load"
)

// server counts as a tokenizer would: a token for each word of up to four
// letters and one more for each four beyond, and a few for the template.
type server struct {
	template  int  // tokens of the chat template
	messages  bool // /tokenize takes messages
	empty     bool // /tokenize answers messages with no tokens, as llama.cpp does
	blind     bool // there is no /tokenize
	silent    bool // no usage
	odd       bool // every other word is two tokens more, so that some lengths can't be met
	generated atomic.Int64
	tokenized atomic.Int64
}

func (s *server) plain(text string) int {
	n := 0
	for i, w := range strings.Fields(text) {
		n += (len(w) + 3) / 4
		if s.odd && i%2 == 1 {
			n += 2
		}
	}
	return n
}

func (s *server) Do(_ context.Context, r exchange.Request) *exchange.Exchange {
	e := &exchange.Exchange{Request: r, Status: 200, ContentType: "application/json"}
	reply := func(v any) *exchange.Exchange {
		e.Raw, _ = json.Marshal(v)
		return e
	}
	text := r.Prompt
	if len(r.Messages) > 0 {
		text = r.Messages[0].Content
	}
	if t, ok := r.Params["content"].(string); ok {
		text = t
	}
	n := s.plain(text)
	switch {
	case r.API != exchange.Tokenize:
		s.generated.Add(1)
		if r.API == exchange.Chat {
			n += s.template
		}
		body := map[string]any{"choices": []any{map[string]any{"index": 0, "text": "x", "message": map[string]any{"content": "x"}, "finish_reason": "length"}}}
		if !s.silent {
			body["usage"] = map[string]any{"prompt_tokens": n, "completion_tokens": 1, "total_tokens": n + 1}
		}
		return reply(body)
	case len(r.Messages) > 0 && s.empty:
		return reply(map[string]any{"tokens": []int{}})
	case s.blind, len(r.Messages) > 0 && !s.messages:
		e.Status, e.Failure = 404, &exchange.Failure{Class: exchange.HTTPStatus}
		return e
	case len(r.Messages) > 0:
		n += s.template
	}
	s.tokenized.Add(1)
	return reply(map[string]any{"count": n, "tokens": make([]int, n)})
}

func sized(api exchange.API, tokens int) fixture.Workload {
	zero := 0.0
	return fixture.Workload{Name: "w", API: api, Requests: 20, Concurrency: 4, MaxTokens: 8, Temperature: &zero, Warmup: 2, PromptTokens: tokens,
		Prompts: []string{"Write about kites.", "Write about tea and its leaves."}}
}

func able() exchange.Target {
	return exchange.Target{Model: "m", MaxModelLen: 1000, TokenizeField: "prompt",
		Capabilities: map[exchange.Capability]exchange.State{exchange.CapTokenize: exchange.Present}}
}

// Every prompt comes to its length, on each kind of server that has a
// tokenizer, and no two of them are alike.
func TestFitExact(t *testing.T) {
	llama := able()
	llama.TokenizeField = "content"
	for name, c := range map[string]struct {
		s      *server
		target exchange.Target
		api    exchange.API
	}{
		"completions":       {&server{}, able(), exchange.Completions},
		"chat as in vLLM":   {&server{template: 9, messages: true}, able(), exchange.Chat},
		"chat without":      {&server{template: 9}, able(), exchange.Chat},
		"chat as llama.cpp": {&server{template: 9, empty: true}, llama, exchange.Chat},
	} {
		t.Run(name, func(t *testing.T) {
			for _, tokens := range []int{40, 97, 256, 900} {
				w, note, err := Fit(t.Context(), c.s, c.target, sized(c.api, tokens), load.Limits{Salt: 3})
				if err != nil || note != "" {
					t.Fatalf("note %q, error %v", note, err)
				}
				requests, warmup := load.Plan(w, load.Limits{Salt: 3})
				seen := map[string]bool{}
				for _, r := range append(requests, warmup...) {
					text, n := r.Prompt, 0
					if c.api == exchange.Chat {
						text, n = r.Messages[0].Content, c.s.template
					}
					if n += c.s.plain(text); n != tokens {
						t.Errorf("%s has %d tokens, want %d: %q", r.ID, n, tokens, text)
					}
					if seen[text[:11]] {
						t.Errorf("%s begins as another one does: %q", r.ID, text[:11])
					}
					seen[text[:11]] = true
				}
			}
			if n := c.s.generated.Load(); n > 4 {
				t.Errorf("%d generations for four workloads, want one each: what is generated stands in the prefix cache", n)
			}
		})
	}
}

func TestFitMix(t *testing.T) {
	w := sized(exchange.Completions, 0)
	w.MaxTokens, w.Lengths = 0, []fixture.Length{{Weight: 1, PromptTokens: 60, MaxTokens: 5}, {Weight: 1, PromptTokens: 300, MaxTokens: 5}}
	s := &server{}
	w, note, err := Fit(t.Context(), s, able(), w, load.Limits{})
	if err != nil || note != "" {
		t.Fatalf("note %q, error %v", note, err)
	}
	n := map[int]int{}
	for _, text := range w.Exact {
		n[s.plain(text)]++
	}
	if n[60] != 11 || n[300] != 11 || len(n) != 2 {
		t.Errorf("prompts by length %v, want 11 of 60 and 11 of 300", n)
	}
}

// Without a tokenizer the usage of two prompts gives the ratio, and it is said
// that the lengths are estimates.
func TestFitEstimates(t *testing.T) {
	for name, c := range map[string]struct {
		s     *server
		note  string
		share float64 // by which a length may be off
	}{
		"usage alone": {&server{blind: true, template: 9}, "prompt lengths are estimates: the server has no /tokenize; its usage for two prompts gave the ratio", 0.12},
		"nothing":     {&server{blind: true, silent: true}, "prompt lengths are estimates: the server has no /tokenize and tells no usage", 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			target := able()
			target.Capabilities = nil
			w, note, err := Fit(t.Context(), c.s, target, sized(exchange.Chat, 400), load.Limits{})
			if err != nil || note != c.note {
				t.Fatalf("note %q, want %q; error %v", note, c.note, err)
			}
			for i, text := range w.Exact {
				if n := float64(c.s.plain(text) + c.s.template); n < 400*(1-c.share) || n > 400*(1+c.share) {
					t.Errorf("prompt %d has %v tokens, want about 400", i, n)
				}
			}
		})
	}
}

// Where no text of a length can be found, it is said how many are off.
func TestFitOff(t *testing.T) {
	w, note, err := Fit(t.Context(), &server{odd: true}, able(), sized(exchange.Completions, 200), load.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s, off := &server{odd: true}, 0
	for _, text := range w.Exact {
		n := s.plain(text)
		if n != 200 {
			off++
		}
		if n < 190 || n > 210 {
			t.Errorf("a prompt has %d tokens, want about 200", n)
		}
	}
	if want := fmt.Sprintf("%d of 22 prompts are a few tokens off", off); off > 0 && !strings.HasPrefix(note, want) || off == 0 && note != "" {
		t.Errorf("%d are off and the note is %q", off, note)
	}
}

func TestFitRefusesWhatDoesNotFit(t *testing.T) {
	trace := sized(exchange.Chat, 0)
	trace.Prompts, trace.Arrival, trace.Trace = nil, fixture.Replay, []fixture.Traced{{PromptTokens: 10, MaxTokens: 5}, {PromptTokens: 999, MaxTokens: 2}}
	talk := sized(exchange.Chat, 0)
	talk.Prompts, talk.Dialogues, talk.MaxTokens = nil, [][]string{{"a", "b", "c"}}, 334
	long := sized(exchange.Chat, 993)
	long.File, long.Line = "w.yaml", 7
	for name, c := range map[string]struct {
		w    fixture.Workload
		want string
	}{
		"too long":  {long, "workload w (w.yaml:7): prompts of 993 tokens and answers of 8 are 1001, more than the context of 1000 tokens that m tells; nothing was sent"},
		"trace":     {trace, "request 2 of the trace: prompts of 999 tokens and answers of 2 are 1001"},
		"dialogues": {talk, "the answers of 3 turns alone are up to 1002 tokens"},
		"too short": {sized(exchange.Chat, 5), "a prompt is 21 tokens before any filler, more than it shall come to (give --prompt-tokens 21 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{template: 9, messages: true}
			_, _, err := Fit(t.Context(), s, able(), c.w, load.Limits{})
			var e *engine.Error
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if e, _ = err.(*engine.Error); e == nil || e.Kind != engine.Usage || e.Hint == "" { //nolint:errorlint // it is not wrapped
				t.Errorf("the error %#v is no usage error with a fix", err)
			}
			if name != "too short" && s.generated.Load()+s.tokenized.Load() > 0 {
				t.Error("the server was asked before the error")
			}
		})
	}
	if _, _, err := Fit(t.Context(), &server{}, exchange.Target{}, long, load.Limits{}); err != nil {
		t.Errorf("a server that tells no context is refused: %v", err)
	}
}
