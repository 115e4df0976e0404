package load

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
)

func workload() fixture.Workload {
	return fixture.Workload{Name: "smoke", API: exchange.Chat, Stream: true, Requests: 32, Concurrency: 8, MaxTokens: 64,
		Temperature: ptr(0.0), Warmup: 2, Seed: 7, Prompts: []string{"Note {{n}}. Kites? Again: {{n}}.", "Note {{n}}. Tea?"}}
}

func TestPlan(t *testing.T) {
	rs, warm := Plan(workload(), Limits{})
	if len(rs) != 32 || len(warm) != 2 {
		t.Fatalf("%d requests, %d to warm up", len(rs), len(warm))
	}
	first := rs[0]
	if first.ID != "load/smoke/0001" || first.Probe != "throughput" || first.Case != "smoke" || !first.Stream {
		t.Errorf("the first request is %+v", first)
	}
	body, err := json.Marshal(first.Body("m"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"temperature":0`, `"max_tokens":64`, `"seed":7`, `"stream":true`, `"include_usage":true`, `"role":"user"`} {
		if !strings.Contains(string(body), part) {
			t.Errorf("the body has no %s: %s", part, body)
		}
	}
	for _, part := range []string{"ignore_eos", "return_token_ids", "{{n}}"} {
		if strings.Contains(string(body), part) {
			t.Errorf("the body has %s: %s", part, body)
		}
	}
	if rs[1].Params["seed"] != int64(8) || !strings.Contains(rs[1].Messages[0].Content, "Tea?") {
		t.Errorf("the second request is %+v", rs[1])
	}
	text := first.Messages[0].Content
	if words := strings.Fields(text); strings.Trim(words[1], ".") != strings.Trim(words[4], ".") {
		t.Errorf("two nonces in one prompt: %q", text)
	}
	seen := map[string]bool{}
	for _, r := range append(rs, warm...) {
		if seen[r.ID] || seen[r.Messages[0].Content] {
			t.Errorf("%s: %q was there before", r.ID, r.Messages[0].Content)
		}
		seen[r.ID], seen[r.Messages[0].Content] = true, true
		if IsWarmup(r) != strings.Contains(r.ID, "warmup") {
			t.Errorf("IsWarmup(%s) = %v", r.ID, IsWarmup(r))
		}
	}
}

func TestPlanIsTheSameEachTime(t *testing.T) {
	bytes := func(l Limits) string {
		rs, warm := Plan(workload(), l)
		data, err := json.Marshal([]any{rs, warm})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if first, second := bytes(Limits{}), bytes(Limits{}); first != second {
		t.Error("two plans of one workload differ")
	}
	if bytes(Limits{}) == bytes(Limits{Salt: 1}) {
		t.Error("the salt changes nothing")
	}
	// A plan that was cut short is the beginning of the whole one.
	short, _ := Plan(workload(), Limits{Requests: 3})
	long, _ := Plan(workload(), Limits{})
	for i := range short {
		if short[i].Messages[0] != long[i].Messages[0] || short[i].ID != long[i].ID {
			t.Errorf("request %d depends on how many there are", i)
		}
	}
}

func TestPlanLimits(t *testing.T) {
	rs, warm := Plan(workload(), Limits{Requests: 3, MaxTokens: 16, Warmup: ptr(5)})
	if len(rs) != 3 || len(warm) != 5 || rs[0].Params["max_tokens"] != 16 {
		t.Errorf("%d requests, %d to warm up, max_tokens %v", len(rs), len(warm), rs[0].Params["max_tokens"])
	}
	rs, warm = Plan(workload(), Limits{Requests: 300, MaxTokens: 4096, Warmup: ptr(0)})
	if len(rs) != 32 || len(warm) != 0 || rs[0].Params["max_tokens"] != 64 {
		t.Error("a limit made the load larger")
	}
	if rs, warm := Plan(fixture.Workload{Requests: 3}, Limits{}); rs != nil || warm != nil {
		t.Error("a workload without a prompt has requests")
	}
}

func TestPlanOnePrompt(t *testing.T) {
	w := fixture.Workload{Name: "founding", API: exchange.Completions, Requests: 2, MaxTokens: 128, Temperature: ptr(0.7),
		Warmup: 1, IgnoreEOS: true, Prompt: "Write a guide."}
	rs, warm := Plan(w, Limits{})
	if rs[0].Prompt != "Write a guide." || rs[1].Prompt != rs[0].Prompt {
		t.Errorf("prompts %q and %q", rs[0].Prompt, rs[1].Prompt)
	}
	if p := warm[0].Prompt; strings.HasPrefix(p, "Write") || !strings.HasSuffix(p, "Write a guide.") {
		t.Errorf("the warm-up puts the measured prompt into the cache: %q", p)
	}
	if rs[0].Params["ignore_eos"] != true || rs[0].Params["stream_options"] != nil || rs[0].Params["temperature"] != 0.7 {
		t.Errorf("params %v", rs[0].Params)
	}
}

func TestPlanOfATime(t *testing.T) {
	w := workload()
	w.Arrival, w.Rate, w.Requests, w.Duration = fixture.Constant, 10, 0, 2*time.Second
	if rs, _ := Plan(w, Limits{}); len(rs) != 20 {
		t.Errorf("%d requests are planned, want the 20 that leave", len(rs))
	}
}
