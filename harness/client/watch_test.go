package client

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"touchstone/harness/exchange"
)

// script is a server that keeps to a timetable. In a synctest bubble its hours
// cost nothing, and each limit can be held to the nanosecond.
type script struct {
	connect, header time.Duration
	lines           []timed
	endless         bool // the body doesn't end after the last line
}

type timed struct {
	after time.Duration
	text  string
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s script) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := pause(ctx, s.connect); err != nil {
		return nil, err
	}
	httptrace.ContextClientTrace(ctx).GotConn(httptrace.GotConnInfo{})
	if err := pause(ctx, s.header); err != nil {
		return nil, err
	}
	body := &scriptBody{ctx: ctx, left: s.lines, endless: s.endless}
	kind := http.Header{"Content-Type": {req.Header.Get("Accept")}} // go-openai asks for what it expects
	return &http.Response{StatusCode: 200, Header: kind, Body: body, Request: req}, nil
}

type scriptBody struct {
	ctx     context.Context
	left    []timed
	endless bool
}

func (b *scriptBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		if !b.endless {
			return 0, io.EOF
		}
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	if err := pause(b.ctx, b.left[0].after); err != nil {
		return 0, err
	}
	n := copy(p, b.left[0].text)
	b.left = b.left[1:]
	return n, nil
}

func (b *scriptBody) Close() error { return nil }

func repeat(n int, after time.Duration, text string) []timed {
	var out []timed
	for range n {
		out = append(out, timed{after, text})
	}
	return out
}

// The limits of these tests: each of another length, so that it shows which
// one ended the request.
var scripted = Timeouts{Connect: 5 * time.Second, Header: 20 * time.Second, FirstToken: 50 * time.Second, Stall: 30 * time.Second, Total: 10 * time.Minute}

func TestPhases(t *testing.T) {
	const (
		s     = time.Second
		token = "data: " + chunkA + "\n\n"
		ping  = ": ping\n\n"
		role  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
		tool  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}\n\n"
	)
	end := timed{0, sse(chunkB)}
	for _, tc := range []struct {
		name     string
		streamed bool
		server   script
		class    exchange.Class // empty: all well
		end      time.Duration  // of the exchange; 0: whenever
	}{
		{"every phase just in time", true, script{4 * s, 19 * s, append(repeat(1, 49*s, token), append(repeat(5, 29*s, token), end)...), false}, "", 0},
		{"no status line", true, script{1 * s, never, nil, true}, exchange.TimeoutHeader, 21 * s},
		{"no first token", true, script{1 * s, 1 * s, nil, true}, exchange.TimeoutFirst, 52 * s},
		{"pings instead of a first token", true, script{1 * s, 1 * s, repeat(1000, 1*s, ping), true}, exchange.TimeoutFirst, 52 * s},
		{"the role is no token", true, script{1 * s, 1 * s, repeat(1000, 7*s, role), true}, exchange.TimeoutFirst, 52 * s},
		{"a stall", true, script{1 * s, 1 * s, repeat(3, 10*s, token), true}, exchange.TimeoutStall, 62 * s},
		{"a stall after a late first token", true, script{0, 0, repeat(1, 49*s, token), true}, exchange.TimeoutStall, 79 * s},
		{"a stall with pings", true, script{1 * s, 1 * s, append(repeat(3, 10*s, token), repeat(1000, 1*s, ping)...), true}, exchange.TimeoutStall, 62 * s},
		{"tool calls are tokens", true, script{0, 0, append(repeat(10, 20*s, tool), end), false}, "", 200 * s},
		{"too long in all", true, script{0, 0, repeat(1000, 10*s, token), true}, exchange.TimeoutTotal, 600 * s},
		{"one piece: the status line may take as long as the reply", false, script{1 * s, 590 * s, []timed{{0, object}}, false}, "", 591 * s},
		{"one piece: no status line", false, script{1 * s, never, nil, true}, exchange.TimeoutHeader, 600 * s},
		{"one piece: no body", false, script{1 * s, 1 * s, nil, true}, exchange.TimeoutFirst, 52 * s},
		{"one piece: half a body", false, script{1 * s, 1 * s, []timed{{10 * s, object[:9]}}, true}, exchange.TimeoutStall, 42 * s},
		{"[DONE], then silence", true, script{0, 0, append(repeat(1, 1*s, token), end), true}, "", 1 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Options{BaseURL: "http://h", Model: "m", Timeouts: scripted})
				if err != nil {
					t.Fatal(err)
				}
				c.http.Transport = tc.server
				x := c.Do(t.Context(), request(exchange.Completions, tc.streamed, nil))
				if got := classOf(x); got != tc.class {
					t.Errorf("class %q (%v), want %q", got, x.Failure, tc.class)
				}
				if tc.end > 0 && x.Timeline.End != tc.end {
					t.Errorf("ended at %s, want %s", x.Timeline.End, tc.end)
				}
			})
		})
	}
}

func classOf(x *exchange.Exchange) exchange.Class {
	if x.Failure == nil {
		return ""
	}
	return x.Failure.Class
}
