package load

import (
	"strings"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load/arrival"
)

func sizedWorkload() fixture.Workload {
	w := workload()
	w.Prompts, w.PromptTokens = []string{"Write about kites.", "Write about tea."}, 200
	return w
}

// The nonce comes before everything that another prompt could share, and the
// question stands at the end, where the model answers it.
func TestPlanSized(t *testing.T) {
	rs, warm := Plan(sizedWorkload(), Limits{})
	seen := map[string]bool{}
	for _, r := range append(rs, warm...) {
		text := r.Messages[0].Content
		beginning := text[:12]
		if !strings.HasPrefix(text, "Note ") || seen[beginning] {
			t.Errorf("%s begins %q, as another one does or without a nonce", r.ID, beginning)
		}
		seen[beginning] = true
		if words := len(strings.Fields(text)); words != 150 { // three quarters of 200
			t.Errorf("%s has %d words, want 150", r.ID, words)
		}
	}
	if !strings.HasSuffix(rs[1].Messages[0].Content, "\n\nWrite about tea.") {
		t.Errorf("the second prompt ends %q", rs[1].Messages[0].Content[150:])
	}
}

// What was measured replaces the estimate, in the same place.
func TestPlanExact(t *testing.T) {
	w := sizedWorkload()
	w.Requests, w.Warmup = 2, 1
	for i, s := range Measurements(w, Limits{Salt: 4}) {
		if s.Length.PromptTokens != 200 {
			t.Errorf("prompt %d shall come to %d tokens", i, s.Length.PromptTokens)
		}
		about, _ := Plan(w, Limits{Salt: 4})
		if i < 2 && s.Text(s.About(w)) != about[i].Messages[0].Content {
			t.Errorf("what is measured is not request %d", i)
		}
	}
	w.Exact = []string{"one", "two", "warm"}
	rs, warm := Plan(w, Limits{Salt: 4})
	if rs[0].Messages[0].Content != "one" || rs[1].Messages[0].Content != "two" || warm[0].Messages[0].Content != "warm" {
		t.Error("the exact prompts are not those that are sent")
	}
}

// Members of a group share their beginning, up to the nonce, and groups don't.
func TestPlanSharedPrefix(t *testing.T) {
	w := sizedWorkload()
	w.SharedTokens, w.Prefixes = 100, 2
	rs, _ := Plan(w, Limits{})
	prefix := func(i int) string {
		before, _, _ := strings.Cut(rs[i].Messages[0].Content, "Note ")
		return before
	}
	if prefix(0) != prefix(2) || prefix(0) == prefix(1) || len(strings.Fields(prefix(0))) != 77 { // 75 of filler and 2 of its name
		t.Errorf("prefixes of requests 1, 2, 3:\n%q\n%q\n%q", prefix(0), prefix(1), prefix(2))
	}
	other, _ := Plan(w, Limits{Salt: 1})
	if strings.HasPrefix(other[0].Messages[0].Content, prefix(0)) {
		t.Error("another run has the same shared prefix: its first requests would be cache hits")
	}
}

// Each block of the weights' sum holds each kind as often as it weighs, and
// the order is no fixed pattern.
func TestPlanMix(t *testing.T) {
	w := sizedWorkload()
	w.PromptTokens, w.MaxTokens, w.Requests = 0, 0, 80
	w.Lengths = []fixture.Length{{Weight: 5, PromptTokens: 100, MaxTokens: 10}, {Weight: 2, PromptTokens: 200, MaxTokens: 20}, {Weight: 1, PromptTokens: 300, MaxTokens: 30}}
	rs, _ := Plan(w, Limits{})
	orders := map[string]bool{}
	for block := range 10 {
		n, order := map[any]int{}, ""
		for _, r := range rs[8*block : 8*block+8] {
			most := r.Params["max_tokens"].(int)
			n[most]++
			order += string(rune('0' + most/10))
			if words := len(strings.Fields(r.Messages[0].Content)); words != 75*most/10 {
				t.Errorf("%s has %d words and max_tokens %d", r.ID, words, most)
			}
		}
		if n[10] != 5 || n[20] != 2 || n[30] != 1 {
			t.Errorf("block %d holds %v", block, n)
		}
		orders[order] = true
	}
	if len(orders) < 5 {
		t.Errorf("ten blocks in %d orders", len(orders))
	}
}

func TestPlanTrace(t *testing.T) {
	w := workload()
	w.Prompts, w.Arrival, w.Requests, w.Warmup = nil, fixture.Replay, 0, 1
	w.Trace = []fixture.Traced{
		{Prompt: "Kites?", MaxTokens: 5},
		{At: 2e9, Messages: []exchange.Message{{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Tea?"}}, MaxTokens: 6},
		{At: 3e9, PromptTokens: 100, MaxTokens: 7},
	}
	rs, warm := Plan(w, Limits{})
	if len(rs) != 3 || len(warm) != 1 {
		t.Fatalf("%d requests, %d to warm up", len(rs), len(warm))
	}
	if rs[0].Messages[0].Content != "Kites?" || len(rs[1].Messages) != 2 || len(strings.Fields(rs[2].Messages[0].Content)) != 75 {
		t.Errorf("requests %+v", rs)
	}
	for i, most := range []int{5, 6, 7} {
		if rs[i].Params["max_tokens"] != most {
			t.Errorf("request %d: max_tokens %v, want %d", i, rs[i].Params["max_tokens"], most)
		}
	}
	if m := Measurements(w, Limits{}); len(m) != 1 || m[2].Length.PromptTokens != 100 {
		t.Errorf("to be measured: %+v", m)
	}
	if at := arrival.Schedule(w, 0, 3); at[1] != 2e9 || at[2] != 3e9 {
		t.Errorf("schedule %v", at)
	}
	w.Exact = []string{"", "", "measured"}
	if rs, _ := Plan(w, Limits{}); rs[2].Messages[0].Content != "measured" || rs[0].Messages[0].Content != "Kites?" {
		t.Errorf("requests %+v", rs)
	}
}
