package load_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"touchstone/harness/client"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load"
)

// event is one chunk of a streamed chat.
func event(text string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
}

const ending = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}` + "\n\n" +
	`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":100,"total_tokens":107}}` + "\n\ndata: [DONE]\n\n"

// stream writes pieces, one flush each.
func stream(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range pieces {
		fmt.Fprint(w, p)
		w.(http.Flusher).Flush()
	}
}

func good(w http.ResponseWriter) { stream(w, event("one"), event(" two"), ending) }

// loaded runs a load of 30 requests on a server of which every third request
// is treated in a way of its own.
func loaded(t *testing.T, odd func(w http.ResponseWriter, r *http.Request)) (*load.Result, load.Metrics) {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A server notices that a client has gone once it has read the request.
		io.Copy(io.Discard, r.Body) //nolint:errcheck // what fails here fails below
		if n.Add(1)%3 == 0 {
			odd(w, r)
			return
		}
		good(w)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Options{BaseURL: s.URL, Model: "m", Timeouts: client.Timeouts{
		Header: 400 * time.Millisecond, FirstToken: 400 * time.Millisecond, Stall: 400 * time.Millisecond, Total: 900 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	w := fixture.Workload{Name: "w", API: exchange.Chat, Stream: true, Requests: 30, Concurrency: 6, MaxTokens: 100, Temperature: &zero, Prompts: []string{"Hello {{n}}"}}
	requests, _ := load.Plan(w, load.Limits{})
	o := load.For(w, 0, requests, nil)
	o.Do, o.GiveUp = c.DoAt, 8
	r := load.Run(t.Context(), o)
	return r, load.Measure(r.Exchanges)
}

// A server that fails a third of the requests: the load goes on, each failure
// has its class, and none of it counts as throughput.
func TestFailuresAreClassed(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", code) }
	}
	for name, c := range map[string]struct {
		odd   func(http.ResponseWriter, *http.Request)
		class exchange.Class
	}{
		"429": {status(http.StatusTooManyRequests), exchange.HTTPStatus},
		"503": {status(http.StatusServiceUnavailable), exchange.HTTPStatus},
		"reset": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, event("one"))
			panic(http.ErrAbortHandler)
		}, exchange.Dropped},
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, exchange.TimeoutHeader},
		"no first token": {func(w http.ResponseWriter, r *http.Request) {
			stream(w, ": ping\n\n")
			<-r.Context().Done()
		}, exchange.TimeoutFirst},
		"stalls": {func(w http.ResponseWriter, r *http.Request) {
			stream(w, event("one"), event(" two"))
			<-r.Context().Done()
		}, exchange.TimeoutStall},
		"streams for ever": {func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					stream(w, event(" on"))
				case <-r.Context().Done():
					return
				}
			}
		}, exchange.TimeoutTotal},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) { stream(w, event("one")) }, exchange.Truncated},
		"malformed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>hello</html>")
		}, exchange.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := loaded(t, c.odd)
			if len(r.Exchanges) != 30 || r.GaveUp || m.Successes != 20 || m.Failures[c.class] != 10 {
				t.Fatalf("%d exchanges, gave up %v, %d ok, failures %v; want 30, 20 ok, 10 %s", len(r.Exchanges), r.GaveUp, m.Successes, m.Failures, c.class)
			}
			if m.OutputTokens == nil || *m.OutputTokens != 2000 {
				t.Errorf("output tokens %v, want those of the 20 that succeeded", m.OutputTokens)
			}
		})
	}
}

// One event in a hundred pieces, and a hundred tokens in one event: both are
// one chunk of content each, and the tokens come from the usage.
func TestOddChunks(t *testing.T) {
	bytesOf := func(w http.ResponseWriter, _ *http.Request) {
		e := event("one " + strings.Repeat("x", 40))
		pieces := strings.Split(e, "")
		stream(w, append(pieces, ending)...)
	}
	all := func(w http.ResponseWriter, _ *http.Request) { stream(w, event(strings.Repeat("many ", 100)), ending) }
	for name, odd := range map[string]func(http.ResponseWriter, *http.Request){"bytes": bytesOf, "all at once": all} {
		t.Run(name, func(t *testing.T) {
			_, m := loaded(t, odd)
			if m.Successes != 30 || *m.OutputTokens != 3000 || m.TokenSource != "usage" {
				t.Errorf("%d ok, %v tokens by %s", m.Successes, *m.OutputTokens, m.TokenSource)
			}
			// 20 replies of two chunks and 10 of one hold 3,000 tokens in 50.
			if m.TokensPerChunk == nil || *m.TokensPerChunk != 60 {
				t.Errorf("tokens a chunk %v, want 60", *m.TokensPerChunk)
			}
			if !slices.ContainsFunc(m.Warnings, func(s string) bool { return strings.Contains(s, "a chunk holds 60.00 tokens") }) {
				t.Errorf("warnings %q", m.Warnings)
			}
		})
	}
}
