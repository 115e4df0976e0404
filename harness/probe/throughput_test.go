package probe

import (
	"fmt"
	"strings"
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

func TestThroughputForeignNonce(t *testing.T) {
	const consonants = "bcdfghjklmnpqrstvwxz"
	nonce := func(i int) string { return "wrtk" + string(consonants[i/20]) + string(consonants[i%20]) }
	said := func(text func(i int) string) lab {
		l := loaded(32, text)
		l.Workload.Prompts = []string{"Note {{n}}. Say something."}
		for i := range l.Items {
			q := &l.Items[i].Request
			q.Messages = []exchange.Message{{Role: "user", Content: "Note " + nonce(i) + ". Say something."}}
			l.Items[i].Exchange.Request = *q
		}
		return l
	}
	own := said(func(i int) string { return "Your note is " + nonce(i) + ", and here is something." })
	status(t, throughputProbe{}.Score(own.Evidence), verdict.ThroughputNonces, verdict.Pass)
	leak := said(func(i int) string {
		if i == 7 {
			return "Your note is " + nonce(8) + ", and here is something."
		}
		return fluent(i)
	})
	o := throughputProbe{}.Score(leak.Evidence)
	status(t, o, verdict.ThroughputNonces, verdict.Fail)
	if f := one(t, o, verdict.ThroughputNonces); f.Where != "load/w/0008" || !strings.Contains(f.Summary, "load/w/0009") {
		t.Errorf("the leak is told as %+v", f)
	}
	// Without nonces there is nothing to look for, and that is no pass.
	if fs := find(throughputProbe{}.Score(loaded(32, fluent).Evidence), verdict.ThroughputNonces); len(fs) > 0 {
		t.Errorf("prompts without a nonce are judged: %+v", fs)
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
