package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/health"
	"touchstone/harness/scrape"
)

// healthy are 4 slots of 20 requests of 1 s and 100 tokens each.
func healthy() []*exchange.Exchange { return closedLoop(4, 20, 100, 10*ms, 10*ms, steady) }

func idle() *health.Health {
	return &health.Health{Seconds: 20, Cores: 2, CPUShare: 0.1, Ticks: 2000, LagP99MS: 1}
}

// counted is what a server says that generated so many tokens.
func counted(n float64) *scrape.Server { return &scrape.Server{Engine: "vllm", OutputTokens: &n} }

func reasons(vs []Void) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Reason)
	}
	return strings.Join(out, " ")
}

// judged is the validity of exchanges at a cap of 4, for a comparison.
func judged(in []*exchange.Exchange, h *health.Health, s *scrape.Server) []Void {
	how := How{Concurrency: 4}
	return Validity(how.Measure(in), h, s, Want{How: how, Plateau: true, Planned: len(in)})
}

func TestValidityHealthy(t *testing.T) {
	if got := judged(healthy(), idle(), counted(8000)); len(got) > 0 {
		t.Errorf("a healthy load is void: %+v", got)
	}
	// A server without /metrics, and a client that nobody watched.
	if got := judged(healthy(), nil, nil); len(got) > 0 {
		t.Errorf("a load of which less is known is void: %+v", got)
	}
	// A smoke load: no plateau, and watched for a moment only. It is valid,
	// unless a comparison wants it.
	few := closedLoop(4, 1, 64, 10*ms, ms, steady)
	h := &health.Health{Seconds: 0.08, Cores: 2, CPUShare: 1, LagP99MS: 40, Ticks: 3}
	how := How{Concurrency: 4}
	if got := Validity(how.Measure(few), h, counted(256), Want{How: how, Planned: 4}); len(got) > 0 {
		t.Errorf("a smoke load is void: %+v", got)
	}
	if got := reasons(Validity(how.Measure(few), h, counted(256), Want{How: how, Plateau: true})); got != VoidNoPlateau {
		t.Errorf("a smoke load for a comparison: %q", got)
	}
	// One token a request is how servers count the end of a text.
	if got := judged(healthy(), idle(), counted(8080)); len(got) > 0 {
		t.Errorf("one token more a request: %+v", got)
	}
	// The server bunches its events; the client had time to read each alone.
	if got := judged(bunch(healthy()), idle(), nil); len(got) > 0 {
		t.Errorf("a server that sends two events at once: %+v", got)
	}
}

// bunch makes every second event come with the next one, in these exchanges.
func bunch(in []*exchange.Exchange) []*exchange.Exchange {
	for _, e := range in {
		var reads []exchange.Read
		for i := 0; i < len(e.Timeline.Reads); i += 2 {
			r := e.Timeline.Reads[i]
			if i+1 < len(e.Timeline.Reads) {
				next := e.Timeline.Reads[i+1]
				r = exchange.Read{At: next.At, N: r.N + next.N}
			}
			reads = append(reads, r)
		}
		e.Timeline.Reads = reads
	}
	return in
}

// Each gate, and the load that breaks it. Nothing else may be void by it,
// unless it is named.
func TestValidityGates(t *testing.T) {
	change := func(f func(in []*exchange.Exchange)) []*exchange.Exchange {
		in := healthy()
		f(in)
		return in
	}
	busy := func(f func(h *health.Health)) *health.Health {
		h := idle()
		f(h)
		return h
	}
	for name, c := range map[string]struct {
		in   []*exchange.Exchange
		h    *health.Health
		s    *scrape.Server
		want string
		word string
	}{
		"a request failed": {change(func(in []*exchange.Exchange) {
			in[7].Failure = &exchange.Failure{Class: exchange.Dropped, Detail: "made up"}
		}), idle(), nil, VoidFailed, "1 of 80 requests failed (1 dropped)"},
		"a request was interrupted": {change(func(in []*exchange.Exchange) {
			in[79].Failure = &exchange.Failure{Class: exchange.Cancelled, Detail: "made up"}
		}), idle(), nil, VoidUnfinished, "1 request was not sent or interrupted"},
		"a reply without tokens": {change(func(in []*exchange.Exchange) {
			*in[3] = *stream("0-3", 3*time.Second, event{ms, `{"id":"c","choices":[{"index":0,"text":"","finish_reason":"stop"}]}`}, usage(time.Second, 10, 0, ""))
		}), idle(), nil, VoidZero, "0 tokens"},
		"usage lies": {change(func(in []*exchange.Exchange) {
			in[3].Raw = exchange.Bytes(strings.Replace(string(in[3].Raw), `"text":"a"`, `"text":"a","token_ids":[1,2]`, 1))
			in[3].Timeline.Reads[0].N += len(`,"token_ids":[1,2]`)
		}), idle(), nil, VoidDisagree, "1 reply"},
		"the server counts less":     {healthy(), idle(), counted(7000), VoidDisagree, "8000 output tokens, the server's /metrics 7000"},
		"somebody else was there":    {healthy(), idle(), counted(9000), VoidDisagree, "somebody else"},
		"the client had no CPU left": {healthy(), busy(func(h *health.Health) { h.CPUShare = 0.95 }), nil, VoidCPU, "95 % of its 2 cores"},
		"the client woke up late":    {healthy(), busy(func(h *health.Health) { h.LagP99MS = 25 }), nil, VoidLag, "25.0 ms late"},
		"reads bunched up":           {bunch(healthy()), busy(func(h *health.Health) { h.CPUShare = 0.6 }), nil, VoidReads, "% of the reads"},
		"a part of the reads":        {change(func(in []*exchange.Exchange) { bunch(in[:20]) }), busy(func(h *health.Health) { h.CPUShare = 0.6 }), nil, VoidReads, "14 % of the reads"},
		"bunched, nobody watched":    {bunch(healthy()), nil, nil, VoidReads, "% of the reads"},
		"requests left late": {change(func(in []*exchange.Exchange) {
			for i := 0; i < len(in); i += 5 {
				in[i].Timeline.Sent = 8 * ms
			}
		}), idle(), nil, VoidSchedule, "8.0 ms after their intended time"},
		"the server restarted":       {healthy(), idle(), &scrape.Server{Restarted: "process_start_time_seconds changed"}, VoidRestarted, "process_start_time_seconds"},
		"fewer slots than asked for": {closedLoop(3, 20, 100, 10*ms, 10*ms, steady), idle(), nil, VoidNoPlateau, "at most 3"},
		"the server slowed down": {closedLoop(4, 20, 100, 10*ms, 10*ms, func(i int) float64 { return 1 + 0.3*float64(i)/19 }), idle(), nil,
			VoidTrend, "changed by"},
		"the cap was not kept": {append(healthy(), paced("x", 5*time.Second, 10*ms, 10*ms, 100)), idle(), nil, VoidLittle, "5 requests were in flight at once, 4"},
		"a slot is held after the text": {change(func(in []*exchange.Exchange) {
			for i, e := range in { // half a second between the last token and the end
				e.Timeline.Start = e.Timeline.Start.Add(time.Duration(i%20) * 500 * ms)
				e.Timeline.End += 500 * ms
				e.Timeline.Reads[len(e.Timeline.Reads)-1].At += 500 * ms
			}
		}), idle(), nil, VoidLittle, "Little"},
	} {
		got := judged(c.in, c.h, c.s)
		if reasons(got) != c.want {
			t.Errorf("%s: void for %q, want %q; %+v", name, reasons(got), c.want, got)
			continue
		}
		if !strings.Contains(got[0].Text, c.word) {
			t.Errorf("%s: %q does not say %q", name, got[0].Text, c.word)
		}
	}
}

func TestValidityUnfinished(t *testing.T) {
	how := How{Concurrency: 4}
	got := Validity(how.Measure(healthy()), nil, nil, Want{How: how, Planned: 90})
	if reasons(got) != VoidUnfinished || got[0].Numbers["unfinished"] != 10 {
		t.Errorf("10 of 90 are missing: %+v", got)
	}
	if got := reasons(Validity(Measure(nil), nil, nil, Want{})); got != VoidUnfinished {
		t.Errorf("nothing was sent: %q", got)
	}
}

// What the probe found wrong with this very traffic, and another request's
// nonce in a reply, make the build incorrect.
func TestValidityIncorrect(t *testing.T) {
	in := healthy()
	for i, e := range in {
		e.Request.Prompt = fmt.Sprintf("Request %s. Say something.", string(rune('b'+i%4))+"cdfgh")
	}
	answer := func(i int, said string) {
		e := in[i]
		was := len(e.Raw)
		e.Raw = exchange.Bytes(strings.Replace(string(e.Raw), `"text":"a"`, fmt.Sprintf(`"text":%q`, said), 1))
		e.Timeline.Reads[0].N += len(e.Raw) - was
	}
	answer(1, "bcdfgh, dcdfgh ") // its own is ccdfgh
	how := How{Concurrency: 4}
	if got := Validity(how.Measure(in), nil, nil, Want{How: how}); len(got) > 0 {
		t.Errorf("nonces that several requests have are nobody's: %+v", got)
	}
	const consonants = "bcdfghjklmnpqrstvwxz"
	nonce := func(i int) string { return string(consonants[i/20]) + string(consonants[i%20]) + "wrtk" }
	for i, e := range in {
		e.Request.Prompt = "Request " + nonce(i) + ". Say something."
	}
	answer(5, "You said "+nonce(5)+". ")
	if got := Validity(how.Measure(in), nil, nil, Want{How: how}); len(got) > 0 {
		t.Errorf("a reply with its own nonce: %+v", got)
	}
	answer(6, "You said "+nonce(40)+". ")
	got := Validity(how.Measure(in), nil, nil, Want{How: how, Incorrect: []string{"throughput.coherence"}})
	if reasons(got) != VoidIncorrect+" "+VoidForeign || !got[0].Incorrect || !got[1].Incorrect {
		t.Fatalf("void for %+v", got)
	}
	if !strings.Contains(got[0].Text, "throughput.coherence") || !strings.Contains(got[1].Text, nonce(40)) {
		t.Errorf("the texts don't say what was wrong: %q, %q", got[0].Text, got[1].Text)
	}
}
