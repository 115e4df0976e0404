package probe

import (
	"fmt"
	"testing"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// loaded is the evidence of n requests that each took a second.
func loaded(n int, text func(int) string) lab {
	l := newLab()
	l.Workload = &fixture.Workload{Name: "w", Prompts: []string{"a", "b", "c", "d"}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		q := exchange.Request{ID: fmt.Sprintf("load/w/%04d", i+1), Probe: string(verdict.Throughput), Case: "w", API: exchange.Chat,
			Messages: []exchange.Message{{Role: "user", Content: "Say something."}}}
		raw := fmt.Sprintf(`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":10,"total_tokens":13}}`, text(i))
		x := &exchange.Exchange{Request: q, Status: 200, ContentType: "application/json", Raw: []byte(raw),
			Timeline: exchange.Timeline{Start: start, Reads: []exchange.Read{{At: time.Second, N: len(raw)}}, End: time.Second}}
		it := Item{Request: q, Exchange: x}
		it.Reply, it.Failure = exchange.Decode(x)
		l.Items = append(l.Items, it)
	}
	return l
}

func fluent(i int) string {
	return fmt.Sprintf("This is the answer to request number %d, and it is a good one.", i)
}

func TestThroughputHealthy(t *testing.T) {
	o := throughputProbe{}.Score(loaded(32, fluent).Evidence)
	for _, c := range []string{verdict.ThroughputRequests, verdict.ThroughputCoherence, verdict.ThroughputSame, verdict.ThroughputRecorded} {
		status(t, o, c, verdict.Pass)
	}
	// 32 requests of 10 tokens, all within one second.
	if f := one(t, o, verdict.ThroughputRecorded); f.Measured != "320 tok/s" {
		t.Errorf("measured %s, want 320 tok/s", f.Measured)
	}
}

func TestThroughputReadsItsTexts(t *testing.T) {
	// With one flagged text in a hundred, 4 or more of 32 happen once in 3,000
	// runs (binomial tail), 3 or more once in 250.
	for bad, want := range map[int]verdict.Status{0: verdict.Pass, 3: verdict.Pass, 4: verdict.Fail, 32: verdict.Fail} {
		o := throughputProbe{}.Score(loaded(32, func(i int) string {
			if i < bad {
				return "GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGG"
			}
			return fluent(i)
		}).Evidence)
		status(t, o, verdict.ThroughputCoherence, want)
	}
}

func TestThroughputOneAnswerForAll(t *testing.T) {
	l := loaded(32, func(int) string { return "The train leaves the home page." })
	status(t, throughputProbe{}.Score(l.Evidence), verdict.ThroughputSame, verdict.Fail)
	l.Workload.Prompts = []string{"a {{n}}"}
	if fs := find(throughputProbe{}.Score(l.Evidence), verdict.ThroughputSame); len(fs) > 0 {
		t.Errorf("one prompt got one answer, and that is reported: %+v", fs)
	}
}

func TestThroughputFailures(t *testing.T) {
	l := loaded(32, fluent)
	failing(&l.Items[0], exchange.HTTPStatus, 500)
	status(t, throughputProbe{}.Score(l.Evidence), verdict.ThroughputRequests, verdict.Fail)
	for i := range l.Items {
		failing(&l.Items[i], exchange.HTTPStatus, 429)
		l.Items[i].Exchange.Failure = l.Items[i].Failure
	}
	o := throughputProbe{}.Score(l.Evidence)
	status(t, o, verdict.ThroughputRequests, verdict.Inconclusive)
	status(t, o, verdict.ThroughputRecorded, verdict.Inconclusive)
}
