package probe

import (
	"fmt"
	"strings"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

func ptr[T any](v T) *T { return &v }

// lab is evidence that a test puts together by hand.
type lab struct{ *Evidence }

func newLab() lab {
	caps := map[exchange.Capability]exchange.State{}
	for _, c := range exchange.Capabilities() {
		caps[c] = exchange.Present
	}
	return lab{&Evidence{
		Target:  exchange.Target{Engine: "test", Model: "m", TokenizeField: "prompt", Capabilities: caps, MaxModelLen: 1000},
		Prompts: map[string]fixture.Prompt{}, answers: map[string]*fixture.Answer{},
	}}
}

// put adds a request with its reply, and the baseline's answer if there is one.
func (l lab) put(area verdict.Area, p fixture.Prompt, n int, r *exchange.Reply, base *exchange.Reply) {
	id := string(area) + "/" + p.ID
	if n > 0 {
		id = fmt.Sprintf("%s/%d", id, n)
	}
	q := exchange.Request{ID: id, Probe: string(area), Case: p.ID, API: exchange.Chat,
		Messages: []exchange.Message{{Role: "user", Content: p.User}},
		Params:   map[string]any{"max_tokens": 50, "temperature": 0}}
	it := Item{Request: q, Exchange: &exchange.Exchange{Request: q, Status: 200}, Reply: r}
	if r == nil {
		it.Exchange = nil
	}
	l.Prompts[p.ID] = p
	l.Items = append(l.Items, it)
	if base != nil {
		if l.Baseline == nil {
			l.Baseline = &fixture.Baseline{Name: "good", Target: l.Target}
		}
		a := fixture.NewAnswer(q, base)
		l.Baseline.Answers = append(l.Baseline.Answers, a)
		l.answers[id] = &a
	}
}

// says is a reply that stopped by itself: a token a word, all quite sure.
func says(text string) *exchange.Reply {
	r := &exchange.Reply{Text: text, FinishReason: "stop", PromptTokenIDs: []int{1, 2, 3}, Choices: 1, Done: true}
	for i, w := range strings.SplitAfter(text, " ") {
		id := 0
		for _, c := range w {
			id = id*31 + int(c)
		}
		r.TokenIDs = append(r.TokenIDs, id)
		r.Tokens = append(r.Tokens, exchange.Token{ID: ptr(id), Text: w, Logprob: ptr(-0.1), Top: []exchange.Alternative{
			{ID: ptr(id), Text: w, Logprob: ptr(-0.1)}, {ID: ptr(-i - 1), Text: "other", Logprob: ptr(-4.0)},
		}})
	}
	r.Usage = &exchange.Usage{Prompt: 3, Completion: len(r.TokenIDs), Total: 3 + len(r.TokenIDs)}
	return r
}

// unsure makes the first token a near-tie.
func unsure(r *exchange.Reply) *exchange.Reply {
	r.Tokens[0].Top[1].Logprob = ptr(-0.15)
	return r
}

func fact(i int, answer string) fixture.Prompt {
	return fixture.Prompt{ID: fmt.Sprintf("fact-%02d", i), Kind: fixture.KindFact, User: fmt.Sprintf("Question %d?", i),
		Expect: fixture.Expect{AnyOf: []string{answer}}}
}

// find returns the findings of a check.
func find(o Outcome, check string) []verdict.Finding {
	var out []verdict.Finding
	for _, f := range o.Findings {
		if f.Check == check {
			out = append(out, f)
		}
	}
	return out
}

// one returns the only finding of a check.
func one(t *testing.T, o Outcome, check string) verdict.Finding {
	t.Helper()
	fs := find(o, check)
	if len(fs) != 1 {
		t.Fatalf("%d findings of %s, want 1; all: %+v; not covered: %+v", len(fs), check, o.Findings, o.NotCovered)
	}
	return fs[0]
}

func status(t *testing.T, o Outcome, check string, want verdict.Status) {
	t.Helper()
	if f := one(t, o, check); f.Status != want {
		t.Errorf("%s is %v, want %v: %s", check, f.Status, want, f.Summary)
	}
}
