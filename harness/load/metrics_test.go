package load

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"touchstone/harness/exchange"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const ms = time.Millisecond

// event is one data line of a stream and when it was read.
type event struct {
	at   time.Duration
	data string
}

// content is a completions chunk; extra is more of its choice.
func content(at time.Duration, text, extra string) event {
	return event{at, fmt.Sprintf(`{"id":"c","choices":[{"index":0,"text":%q%s}]}`, text, extra)}
}

func usage(at time.Duration, prompt, completion int, extra string) event {
	return event{at, fmt.Sprintf(`{"id":"c","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d%s}}`,
		prompt, completion, prompt+completion, extra)}
}

const stop = `,"finish_reason":"length"`

// stream is a streamed exchange that starts after noon. Its last event gets
// [DONE] right behind it.
func stream(id string, start time.Duration, events ...event) *exchange.Exchange {
	e := &exchange.Exchange{
		Request: exchange.Request{ID: "load/w/" + id, Probe: Probe, API: exchange.Completions, Prompt: "p", Stream: true},
		Status:  200, ContentType: "text/event-stream",
		Timeline: exchange.Timeline{Start: noon.Add(start), Sent: ms},
	}
	for i, ev := range events {
		s := "data: " + ev.data + "\n\n"
		if i == len(events)-1 {
			s += "data: [DONE]\n\n"
		}
		e.Raw = append(e.Raw, s...)
		e.Timeline.Reads = append(e.Timeline.Reads, exchange.Read{At: ev.at, N: len(s)})
		e.Timeline.End = ev.at
	}
	return e
}

// whole is an exchange that is not streamed.
func whole(id string, start, took time.Duration, text, usage string) *exchange.Exchange {
	raw := fmt.Sprintf(`{"id":"c","choices":[{"index":0,"text":%q,"finish_reason":"length"}]%s}`, text, usage)
	return &exchange.Exchange{
		Request: exchange.Request{ID: "load/w/" + id, Probe: Probe, API: exchange.Completions, Prompt: "p"},
		Status:  200, ContentType: "application/json", Raw: exchange.Bytes(raw),
		Timeline: exchange.Timeline{Start: noon.Add(start), Sent: ms, Reads: []exchange.Read{{At: took, N: len(raw)}}, End: took},
	}
}

func counts(prompt, completion int) string {
	return fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, completion, prompt+completion)
}

func failed(id string, start, took time.Duration, class exchange.Class) *exchange.Exchange {
	return &exchange.Exchange{
		Request:  exchange.Request{ID: "load/w/" + id, Probe: Probe, API: exchange.Completions, Stream: true},
		Timeline: exchange.Timeline{Start: noon.Add(start), End: took},
		Failure:  &exchange.Failure{Class: class, Detail: "made up"},
	}
}

func want(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s was not measured, want %v", what, want)
	} else if math.Abs(*got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

func wantMissing(t *testing.T, m Metrics, name, reason string) {
	t.Helper()
	if !strings.Contains(m.NotMeasured[name], reason) {
		t.Errorf("%s is missing because of %q, want %q", name, m.NotMeasured[name], reason)
	}
}

func TestMeasureStreams(t *testing.T) {
	// A: starts at 0, chunks of one token at 100, 120, 150, 180 ms; usage and
	// end at 190 ms. B: starts at 50 ms, chunks at 200, 210 ms; end at 250 ms,
	// that is 300 ms after noon.
	m := Measure([]*exchange.Exchange{
		stream("0001", 0, content(100*ms, "a", ""), content(120*ms, "b", ""), content(150*ms, "c", ""),
			content(180*ms, "d", stop), usage(190*ms, 10, 4, `,"prompt_tokens_details":{"cached_tokens":8}`)),
		stream("0002", 50*ms, content(200*ms, "a", ""), content(210*ms, "b", `,"finish_reason":"stop"`),
			usage(250*ms, 30, 2, `,"prompt_tokens_details":{"cached_tokens":0}`)),
	})
	if m.Requests != 2 || m.Successes != 2 || len(m.Failures) != 0 || m.Empty != 0 {
		t.Fatalf("%d requests, %d successes, failures %v, %d empty", m.Requests, m.Successes, m.Failures, m.Empty)
	}
	want(t, "seconds", m.Seconds, 0.3)
	want(t, "req/s", m.RequestsPerS, 2/0.3)
	want(t, "output tok/s", m.OutputTokensPerS, 6/0.3)
	want(t, "total tok/s", m.TotalTokensPerS, 46/0.3)
	want(t, "tok/s per GPU", m.PerGPU(8), 6/0.3/8)
	want(t, "cached share", m.CachedShare, 8.0/40)
	want(t, "mean TTFT", &m.TTFT.Mean, 150)
	want(t, "p90 TTFT", &m.TTFT.P90, 190)             // 100 + 0.9·100
	want(t, "mean TPOT", &m.TPOT.Mean, (80.0/3+10)/2) // (180−100)/(4−1) and (210−200)/(2−1)
	want(t, "mean ITL", &m.ITL.Mean, 90.0/4)          // gaps 20, 30, 30, 10
	want(t, "p50 ITL", &m.ITL.P50, 25)
	want(t, "mean E2EL", &m.E2EL.Mean, 195)      // 180 and 210
	want(t, "mean trailer", &m.Trailer.Mean, 25) // 10 and 40
	want(t, "client lag", &m.ClientLag.Max, 1)
	want(t, "tokens per chunk", m.TokensPerChunk, 1)
	want(t, "coalesced share", m.CoalescedShare, 0)
	want(t, "mean in flight", m.MeanInFlight, (190.0+250)/300)
	if m.PeakInFlight != 2 {
		t.Errorf("peak in flight = %d, want 2", m.PeakInFlight)
	}
	if m.TokenSource != "usage" || *m.OutputTokens != 6 || *m.PromptTokens != 40 {
		t.Errorf("token source %q, %d out, %d in", m.TokenSource, *m.OutputTokens, *m.PromptTokens)
	}
	if l := m.Lengths; l.N != 2 || l.Min != 2 || l.Mean != 3 || l.Max != 4 {
		t.Errorf("lengths %+v", l)
	}
	if l := m.LengthsByFinish["stop"]; l == nil || l.N != 1 || l.Max != 2 {
		t.Errorf("lengths of the ones that stopped: %+v", l)
	}
	// Two values bound p99 from below alone: that the larger one is above it
	// has a chance of 1 − 0.99² = 0.0199 ≤ 0.025.
	p := m.TTFT.P99Interval
	if p == nil || p.Hi != nil || p.Lo == nil || *p.Lo != 200 || p.Needs != 368 {
		t.Errorf("p99 interval of two values: %+v", p)
	}
	if m.ITL.P99Interval != nil {
		t.Error("gaps of one request were taken for independent values")
	}
	want(t, "normalized", &m.Normal.Mean, (180.0/4+210.0/2)/2)
	want(t, "reads with several events", m.ManyEventReads, 0)
	if len(m.PerSecond) != 1 || m.PerSecond[0] != 6 {
		t.Errorf("tokens by the second: %v, want 6 in the first", m.PerSecond)
	}
	// Of two requests nothing is known but their exchanges.
	wantMissing(t, m, "plateau", "not known how")
	if len(m.NotMeasured) != 1 {
		t.Errorf("not measured: %v", m.NotMeasured)
	}
}

func TestMeasureSeveralTokensAChunk(t *testing.T) {
	// Speculative decoding: 3 + 4 + 2 tokens at 100, 140, 160 ms, ids told.
	m := Measure([]*exchange.Exchange{stream("0001", 0,
		content(100*ms, "abc", `,"token_ids":[1,2,3]`), content(140*ms, "defg", `,"token_ids":[4,5,6,7]`),
		content(160*ms, "hi", `,"token_ids":[8,9],"finish_reason":"length"`), usage(161*ms, 5, 9, ""))})
	want(t, "TPOT", &m.TPOT.Mean, 60.0/6)
	want(t, "ITL", &m.ITL.Mean, 30)
	want(t, "tokens per chunk", m.TokensPerChunk, 3)
	if !strings.Contains(fmt.Sprint(m.Warnings), "3.00 tokens") {
		t.Errorf("warnings %q do not name the tokens in a chunk", m.Warnings)
	}
	// The same with running counts instead of ids.
	running := func(n int) string {
		return fmt.Sprintf(`}],"usage":{"prompt_tokens":5,"completion_tokens":%d,"total_tokens":%d},"x":[{"y":0`, n, n+5)
	}
	m = Measure([]*exchange.Exchange{stream("0001", 0,
		content(100*ms, "abc", running(3)), content(140*ms, "defg", running(7)),
		content(160*ms, "hi", stop+running(9)), usage(161*ms, 5, 9, ""))})
	want(t, "TPOT by running counts", &m.TPOT.Mean, 60.0/6)
	// And with nothing told, where the first chunk is taken for one token.
	m = Measure([]*exchange.Exchange{stream("0001", 0,
		content(100*ms, "abc", ""), content(140*ms, "defg", ""), content(160*ms, "hi", stop), usage(161*ms, 5, 9, ""))})
	want(t, "TPOT with nothing told", &m.TPOT.Mean, 60.0/8)
}

func TestMeasureRoleChunkIsNoFirstToken(t *testing.T) {
	e := stream("0001", 0,
		event{5 * ms, `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`},
		event{100 * ms, `{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`},
		event{130 * ms, `{"id":"c","choices":[{"index":0,"delta":{"content":"yes"}}]}`},
		event{131 * ms, `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		usage(140*ms, 5, 3, ""))
	e.Request.API = exchange.Chat
	m := Measure([]*exchange.Exchange{e})
	want(t, "TTFT", &m.TTFT.Mean, 100)
	want(t, "E2EL", &m.E2EL.Mean, 130)
	want(t, "ITL", &m.ITL.Mean, 30)
	want(t, "TPOT", &m.TPOT.Mean, 15)
}

// A token that ends within a character has an id and no text yet.
func TestMeasureTokenWithoutText(t *testing.T) {
	m := Measure([]*exchange.Exchange{stream("0001", 0, content(70*ms, "", `,"token_ids":[1]`), content(100*ms, "多", `,"token_ids":[2]`),
		content(140*ms, "語", `,"token_ids":[3,4]`+stop), usage(141*ms, 5, 4, ""))})
	want(t, "TTFT", &m.TTFT.Mean, 100)
	want(t, "TPOT", &m.TPOT.Mean, 40.0/2) // two of the four tokens were there with the first text
	want(t, "tokens per chunk", m.TokensPerChunk, 2)
}

func TestMeasureCoalescedChunks(t *testing.T) {
	e := stream("0001", 0, content(100*ms, "a", ""), content(150*ms, "b", ""), content(150*ms, "c", stop), usage(150*ms, 5, 3, ""))
	m := Measure([]*exchange.Exchange{e})
	want(t, "coalesced share", m.CoalescedShare, 0.5)
	want(t, "reads with several events", m.ManyEventReads, 0.5) // the second of two
}

func TestMeasureNotStreamed(t *testing.T) {
	m := Measure([]*exchange.Exchange{
		whole("0001", 0, 200*ms, "abc", counts(40, 128)),
		whole("0002", 0, 400*ms, "abc", counts(40, 128)),
	})
	want(t, "E2EL", &m.E2EL.Mean, 300)
	want(t, "tok/s", m.OutputTokensPerS, 256/0.4)
	if m.TTFT != nil || m.TPOT != nil || m.ITL != nil || m.TokensPerChunk != nil || m.CachedShare != nil {
		t.Errorf("a reply in one piece has TTFT %v, TPOT %v, ITL %v", m.TTFT, m.TPOT, m.ITL)
	}
	for _, name := range []string{"ttft_ms", "tpot_ms", "itl_ms", "tokens_per_chunk"} {
		wantMissing(t, m, name, "not streamed")
	}
	wantMissing(t, m, "cached_share", "no cached tokens")
}

func TestMeasureTokenSources(t *testing.T) {
	noUsage := stream("0001", 0, content(100*ms, "a", ""), content(120*ms, "b", stop))
	m := Measure([]*exchange.Exchange{noUsage})
	if m.TokenSource != "chunks" || *m.OutputTokens != 2 || m.TokensPerChunk != nil {
		t.Errorf("source %q, %v tokens, %v a chunk", m.TokenSource, *m.OutputTokens, m.TokensPerChunk)
	}
	wantMissing(t, m, "prompt_tokens", "1 success tells no count")
	wantMissing(t, m, "total_tokens_per_s", "1 success tells no count of prompt tokens")
	if !strings.Contains(fmt.Sprint(m.Warnings), "no usage") {
		t.Errorf("warnings %q do not say that chunks are counted", m.Warnings)
	}

	ids := stream("0001", 0, content(100*ms, "a", `,"token_ids":[1]`), content(120*ms, "bc", `,"token_ids":[2,3]`+stop))
	if m := Measure([]*exchange.Exchange{ids}); m.TokenSource != "ids" || *m.OutputTokens != 3 {
		t.Errorf("source %q, %v tokens, want 3 by ids", m.TokenSource, *m.OutputTokens)
	}
	if m := Measure([]*exchange.Exchange{ids, whole("0002", 0, 100*ms, "x", counts(1, 1))}); m.TokenSource != "mixed" {
		t.Errorf("source %q, want mixed", m.TokenSource)
	}

	// A reply in one piece without usage tells nothing, and a sum without it
	// would be too small.
	m = Measure([]*exchange.Exchange{whole("0001", 0, 100*ms, "x", ""), whole("0002", 0, 100*ms, "x", counts(1, 7))})
	if m.OutputTokens != nil || m.OutputTokensPerS != nil || m.TokenSources["none"] != 1 {
		t.Errorf("%v tokens, %v tok/s, sources %v", m.OutputTokens, m.OutputTokensPerS, m.TokenSources)
	}
	want(t, "req/s", m.RequestsPerS, 20)
	wantMissing(t, m, "output_tokens_per_s", "1 success tells no count of output tokens")
}

func TestMeasureCountMismatches(t *testing.T) {
	m := Measure([]*exchange.Exchange{
		stream("0001", 0, content(100*ms, "a", `,"token_ids":[1]`), content(120*ms, "b", `,"token_ids":[2]`+stop), usage(121*ms, 1, 3, "")),
		stream("0002", 0, content(100*ms, "a", ""), content(120*ms, "b", stop), usage(121*ms, 1, 0, "")),
		stream("0003", 0, content(100*ms, "a", `,"token_ids":[1]`), content(120*ms, "b", `,"token_ids":[2]`+stop), usage(121*ms, 1, 2, "")),
	})
	if m.CountMismatches != 2 {
		t.Errorf("%d mismatches, want 2", m.CountMismatches)
	}
}

func TestMeasureFailures(t *testing.T) {
	m := Measure([]*exchange.Exchange{
		whole("0001", 0, 100*ms, "abc", counts(4, 10)),
		failed("0002", 0, 900*ms, exchange.TimeoutStall),
		failed("0003", 0, 1000*ms, exchange.Cancelled),
		failed("0004", 0, 10*ms, exchange.Cancelled),
		// A stream that was cut: 3 tokens arrived and are not throughput.
		func() *exchange.Exchange {
			e := stream("0005", 0, content(100*ms, "a", ""), content(120*ms, "b", ""), content(130*ms, "c", ""))
			e.Raw = e.Raw[:len(e.Raw)-len("data: [DONE]\n\n")]
			e.Timeline.Reads[2].N -= len("data: [DONE]\n\n")
			return e
		}(),
		whole("warmup-01", -time.Hour, 100*ms, "abc", counts(4, 10)),
	})
	// The failures before a status line and the one after some content.
	if fmt.Sprint(m.FailedIn) != fmt.Sprint(map[string]int{"header": 3, "decode": 1}) {
		t.Errorf("failed in %v", m.FailedIn)
	}
	if m.Requests != 5 || m.Successes != 1 {
		t.Errorf("%d requests, %d successes", m.Requests, m.Successes)
	}
	wantFailures := map[exchange.Class]int{exchange.TimeoutStall: 1, exchange.Cancelled: 2, exchange.Truncated: 1}
	if fmt.Sprint(m.Failures) != fmt.Sprint(wantFailures) {
		t.Errorf("failures %v, want %v", m.Failures, wantFailures)
	}
	// The time that failures took counts: 10 tokens in 1 s.
	want(t, "tok/s", m.OutputTokensPerS, 10)
	want(t, "req/s", m.RequestsPerS, 1)
	if m.E2EL.N != 1 {
		t.Errorf("%d latencies, want that of the one success", m.E2EL.N)
	}
}

func TestMeasureNothing(t *testing.T) {
	for name, c := range map[string]struct {
		in     []*exchange.Exchange
		reason string
	}{
		"nothing was sent":  {nil, "no request was sent"},
		"nothing succeeded": {[]*exchange.Exchange{failed("0001", 0, ms, exchange.Refused)}, "no request succeeded"},
	} {
		m := Measure(c.in)
		for what, p := range map[string]*float64{"req/s": m.RequestsPerS, "tok/s": m.OutputTokensPerS,
			"total tok/s": m.TotalTokensPerS, "per GPU": m.PerGPU(1), "cached share": m.CachedShare} {
			if p != nil {
				t.Errorf("%s: %s = %v", name, what, *p)
			}
		}
		if m.TTFT != nil || m.E2EL != nil || m.Lengths != nil || m.OutputTokens != nil {
			t.Errorf("%s, yet there are numbers: %+v", name, m)
		}
		wantMissing(t, m, "requests_per_s", c.reason)
		wantMissing(t, m, "ttft_ms", c.reason)
	}
}

func TestMeasureEmptySuccess(t *testing.T) {
	m := Measure([]*exchange.Exchange{whole("0001", 0, ms, "", counts(4, 0))})
	if m.Empty != 1 || len(m.Warnings) == 0 {
		t.Errorf("%d empty, warnings %q: a server that says nothing is fast", m.Empty, m.Warnings)
	}
}

func TestMeasureDoesNotDependOnOrder(t *testing.T) {
	es := []*exchange.Exchange{
		whole("0001", 0, 100*ms, "abc", counts(4, 10)),
		whole("0002", 30*ms, 170*ms, "abc", counts(4, 11)),
		failed("0003", 0, 10*ms, exchange.Refused),
	}
	a, err := json.Marshal(Measure(es))
	if err != nil {
		t.Fatal(err)
	}
	es[0], es[2] = es[2], es[0]
	if b, _ := json.Marshal(Measure(es)); string(a) != string(b) {
		t.Errorf("another order, other bytes:\n%s\n%s", a, b)
	}
}

func TestMetricsJSON(t *testing.T) {
	data, err := json.Marshal(Measure([]*exchange.Exchange{whole("0001", 0, 100*ms, "abc", counts(4, 10))}))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if v, has := m["ttft_ms"]; !has || v != nil {
		t.Errorf("ttft_ms = %v, want null", v)
	}
	e2el, _ := m["e2el_ms"].(map[string]any)
	if e2el["p50"] != 100.0 || e2el["sd"] != nil {
		t.Errorf("e2el_ms = %v", e2el)
	}
	// Every formula belongs to a number, and what is missing is one as well.
	plateau, _ := json.Marshal(Plateau{})
	var inPlateau map[string]any
	if err := json.Unmarshal(plateau, &inPlateau); err != nil {
		t.Fatal(err)
	}
	for name := range Formulas() {
		_, has := m[name]
		if part, in := strings.CutPrefix(name, "plateau."); in {
			_, has = inPlateau[part]
		}
		if !has && name != "p99_interval" {
			t.Errorf("a formula is given for %s, which is not there", name)
		}
	}
	for name := range m["not_measured"].(map[string]any) {
		if v, has := m[name]; !has || v != nil {
			t.Errorf("%s is said to be missing, and is %v", name, v)
		}
	}
}

func TestPeak(t *testing.T) {
	at := func(from, to int) flight {
		return flight{noon.Add(time.Duration(from) * ms), noon.Add(time.Duration(to) * ms)}
	}
	for _, c := range []struct {
		fs   []flight
		want int
	}{
		{nil, 0},
		{[]flight{at(0, 10)}, 1},
		{[]flight{at(0, 10), at(10, 20), at(20, 30)}, 1}, // one behind the other
		{[]flight{at(0, 10), at(9, 20), at(5, 6), at(9, 9)}, 2},
		{[]flight{at(0, 30), at(1, 29), at(2, 28)}, 3},
	} {
		if got := peak(c.fs); got != c.want {
			t.Errorf("peak of %v = %d, want %d", c.fs, got, c.want)
		}
	}
}
