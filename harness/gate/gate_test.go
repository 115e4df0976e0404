package gate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/probe"
	"touchstone/harness/verdict"
)

func able() exchange.Target {
	t := exchange.Target{Engine: "vllm", Model: "m", VocabSize: 100, TokenizeField: "prompt", Capabilities: map[exchange.Capability]exchange.State{}}
	for _, c := range exchange.Capabilities() {
		t.Capabilities[c] = exchange.Present
	}
	return t
}

func TestComparable(t *testing.T) {
	base := func(model string, vocab int) *fixture.Baseline {
		return &fixture.Baseline{Name: "good", Target: exchange.Target{Model: model, VocabSize: vocab}}
	}
	for name, c := range map[string]struct {
		base  *fixture.Baseline
		alias string
		want  []string // of the message and the hint; nil: no error
	}{
		"none":                     {nil, "", nil},
		"the same":                 {base("m", 100), "", nil},
		"another model":            {base("other", 100), "", []string{`"other"`, `"m"`, "--model-alias"}},
		"another name":             {base("other", 100), "other", nil},
		"a wrong alias":            {base("other", 100), "third", []string{`"other"`}},
		"another vocabulary":       {base("m", 99), "", []string{"99", "100"}},
		"alias, other vocabulary":  {base("other", 99), "other", []string{"99", "100"}},
		"vocabulary not told then": {base("m", 0), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := comparable(c.base, able(), c.alias)
			var e *engine.Error
			switch {
			case c.want == nil && err == nil:
			case c.want == nil || !errors.As(err, &e) || e.Kind != engine.Usage:
				t.Fatalf("error %v, want %q", err, c.want)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q doesn't say %s", err, w)
				}
			}
		})
	}
}

// set has n anchors of at most 10 tokens, each with a request to /tokenize.
func set(n int) *fixture.Set {
	s := &fixture.Set{}
	for i := range n {
		s.Prompts = append(s.Prompts, fixture.Prompt{ID: fmt.Sprintf("p%d", i), Kind: fixture.KindFact, API: exchange.Chat, User: "u",
			MaxTokens: 10, Tier: fixture.TierSmoke, Expect: fixture.Expect{AnyOf: []string{"x"}}})
	}
	return s
}

func TestPlanWithinLimits(t *testing.T) {
	zero := 0.0
	load := &fixture.Workload{Name: "w", API: exchange.Chat, Requests: 5, Concurrency: 1, MaxTokens: 7, Temperature: &zero, Prompt: "say {{n}}"}
	for name, c := range map[string]struct {
		limits Limits
		loads  int // requests of the load that are left; -1: refused
	}{
		"no limits":                 {Limits{}, 5},
		"enough":                    {Limits{Requests: 11, Tokens: 65}, 5}, // 3 × 2 + 5 requests, 3 × 10 + 5 × 7 tokens
		"the load is cut":           {Limits{Requests: 8}, 2},
		"the load is cut by tokens": {Limits{Tokens: 30 + 7*3 + 6}, 3},
		"no room for a load":        {Limits{Requests: 6}, 0},
		"refused":                   {Limits{Requests: 5}, -1},
		"refused by tokens":         {Limits{Tokens: 29}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Plan(Options{Set: set(3), Tier: fixture.TierSmoke, Workload: load, Limits: c.limits}, able())
			if (err != nil) != (c.loads < 0) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "nothing was sent") {
					t.Errorf("%q doesn't say that nothing was sent", err)
				}
				return
			}
			if got := len(plan[verdict.Throughput]); got != c.loads {
				t.Errorf("%d requests of the load, want %d", got, c.loads)
			}
			if len(plan[verdict.Anchors]) != 3 || len(plan[verdict.Tokens]) != 3 {
				t.Errorf("the correctness part was cut: %d anchors, %d counts", len(plan[verdict.Anchors]), len(plan[verdict.Tokens]))
			}
		})
	}
}

func TestPlanOfNothing(t *testing.T) {
	if _, err := Plan(Options{Set: set(0), Tier: fixture.TierSmoke}, able()); err == nil {
		t.Error("a run without a request is planned: no data would pass")
	}
}

// result is a judged run whose anchors answered with these texts.
func result(t *testing.T, texts ...string) *Result {
	t.Helper()
	s := set(len(texts))
	plan, err := Plan(Options{Set: s, Tier: fixture.TierSmoke, Areas: []verdict.Area{verdict.Anchors}}, able())
	if err != nil {
		t.Fatal(err)
	}
	var xs []*exchange.Exchange
	for i, q := range plan[verdict.Anchors] {
		raw := fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"token_ids":[%d],"finish_reason":"stop","logprobs":{"content":[{"token":%q,"logprob":-0.5,"top_logprobs":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-0.6}]}]}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`, texts[i], len(texts[i]), texts[i])
		xs = append(xs, &exchange.Exchange{Request: q, Status: 200, ContentType: "application/json", Raw: []byte(raw)})
	}
	ev, err := probe.NewEvidence(able(), s.Prompts, nil, plan[verdict.Anchors], xs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Result{Meta: exchange.Meta{Tier: fixture.TierSmoke, Target: able()}, Evidence: ev}
}

func TestBaselineNoise(t *testing.T) {
	b := NewBaseline("good", result(t, "yes", "no", "maybe"), result(t, "yes", "no", "perhaps"))
	if len(b.Answers) != 3 || b.Noise.Scope != fixture.WithinLaunch || b.Noise.Answers != 3 || b.Noise.Identical != 2 {
		t.Errorf("%d answers, noise %+v", len(b.Answers), b.Noise)
	}
	// The first token differs by a tenth of a nat in both passes: a near-tie.
	if b.Noise.Explained != 1 || b.Noise.Unexplained != 0 {
		t.Errorf("noise %+v, want one near-tie", b.Noise)
	}
}

func TestAppend(t *testing.T) {
	b := NewBaseline("good", result(t, "yes", "no", "maybe"), result(t, "yes", "no", "maybe"))
	if err := Append(b, result(t, "yes", "no", "perhaps")); err != nil {
		t.Fatal(err)
	}
	if b.Noise.Scope != fixture.AcrossLaunches || b.Noise.Passes != 3 || b.Noise.Identical != 2 {
		t.Errorf("noise %+v", b.Noise)
	}
	if err := Append(b, result(t, "yes", "no")); err == nil {
		t.Error("a pass over other prompts is appended")
	}
}
