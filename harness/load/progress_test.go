package load

import (
	"strings"
	"testing"
	"time"
)

func state(seconds float64, done int) State {
	return State{Name: "founding", Total: 300, Done: done, InFlight: 300 - done, Tokens: ptr(128 * done),
		Elapsed: time.Duration(seconds * float64(time.Second))}
}

func TestProgressInALog(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false)
	for i := range 36 {
		p.Report(state(float64(i)+0.5, 5*i))
	}
	p.Report(state(36.5, 300))
	p.Close()
	// 10.5, 20.5 and 30.5 s are the first ones at least 10 s apart.
	const want = `founding: 50/300 done, 250 in flight, 610 tok/s, 11s, about 53s left
founding: 100/300 done, 200 in flight, 624 tok/s, 21s, about 41s left
founding: 150/300 done, 150 in flight, 630 tok/s, 31s, about 31s left
founding: 300/300 done, 0 in flight, 1052 tok/s, 37s
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestProgressOnATerminal(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, true)
	p.Report(state(0, 0))
	p.Report(state(0.05, 1)) // too soon to be seen
	p.Report(state(0.2, 2))
	s := state(0.25, 300)
	s.Failed = 3
	p.Report(s)
	p.Close()
	p.Close()
	got := b.String()
	if strings.Count(got, "\r") != 3 || strings.Count(got, "\x1b[K") != 3 || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(got, "3 failed") || strings.Contains(got, "1/300") {
		t.Errorf("got %q", got)
	}
}

func TestProgressTellsEachPhase(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false)
	p.Report(State{Name: "w", Warmup: true, Total: 2, Done: 2, Elapsed: time.Second})
	p.Report(State{Name: "w", Total: 2, Done: 1, Elapsed: 11 * time.Second})
	if got := b.String(); got != "w warm-up: 2/2 done, 0 in flight, 1s\nw: 1/2 done, 0 in flight, 11s, about 11s left\n" {
		t.Errorf("got %q", got)
	}
}

func TestGlance(t *testing.T) {
	for in, want := range map[string]int{
		`{"usage":{"prompt_tokens":5,"completion_tokens":128,"total_tokens":133}}`:                        128,
		"data: {\"usage\":{\"completion_tokens\": 1}}\n\ndata: {\"usage\":{\"completion_tokens\": 27}}\n": 27,
		`{"completion_tokens":null}`: -1,
		`{"text":"hello"}`:           -1,
		``:                           -1,
		`"completion_tokens":`:       -1,
	} {
		n, ok := glance([]byte(in))
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("glance(%q) = %d, want %d", in, n, want)
		}
	}
}

// Where time ends a load and not a number, it says how much time is left, and
// no total that nobody expects.
func TestProgressOfATime(t *testing.T) {
	s := State{Name: "w", Total: 2000, Done: 30, InFlight: 4, Elapsed: 20 * time.Second, Limit: time.Minute}
	if got, want := s.String(), "w: 30 done, 4 in flight, 20s, about 40s left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Elapsed, s.Total, s.Done, s.InFlight = 61*time.Second, 90, 90, 0
	if got, want := s.String(), "w: 90/90 done, 0 in flight, 1m1s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
