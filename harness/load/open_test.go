package load

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"touchstone/harness/exchange"
)

// fakeNap waits by the clock of the bubble.
func fakeNap(d time.Duration) { <-time.After(d) }

// booked notes when each request was due and when it was sent, from the start.
type booked struct {
	mu        sync.Mutex
	start     time.Time
	due, sent map[string]time.Duration
}

func newBooked() *booked {
	return &booked{start: time.Now(), due: map[string]time.Duration{}, sent: map[string]time.Duration{}}
}

func (b *booked) add(r exchange.Request, intended time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due[r.ID], b.sent[r.ID] = intended.Sub(b.start), time.Since(b.start)
}

// takes answers after a time by the bubble's clock.
func (b *booked) takes(d time.Duration) func(context.Context, time.Time, exchange.Request) *exchange.Exchange {
	return func(_ context.Context, intended time.Time, r exchange.Request) *exchange.Exchange {
		b.add(r, intended)
		<-time.After(d)
		return answered(r)
	}
}

func every(gap time.Duration, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i) * gap
	}
	return out
}

// An open loop sends by its schedule, however slow the server is.
func TestRunOpenLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooked()
		var last State
		r := Run(t.Context(), Options{
			Requests: requests(10), Arrivals: every(100*time.Millisecond, 10), nap: fakeNap,
			Do: b.takes(time.Hour), Progress: func(s State) { last = s },
		})
		for i := range 10 {
			id, want := fmt.Sprintf("load/w/%04d", i+1), time.Duration(i)*100*time.Millisecond
			if b.due[id] != want || b.sent[id] != want {
				t.Errorf("%s was due at %v and sent at %v, want %v", id, b.due[id], b.sent[id], want)
			}
		}
		if len(r.Exchanges) != 10 || r.TimeUp || last.Done != 10 {
			t.Errorf("%d exchanges, time up %v, last state %+v", len(r.Exchanges), r.TimeUp, last)
		}
	})
}

// With two slots and a server that takes 1 s, requests that are due every
// 100 ms wait in the client. Their due time stays: the wait is part of their
// latency, and their lag shows it.
func TestRunOpenLoopCapHidesNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooked()
		Run(t.Context(), Options{
			Concurrency: 2, Requests: requests(6), Arrivals: every(100*time.Millisecond, 6), nap: fakeNap, Do: b.takes(time.Second),
		})
		for i, want := range []time.Duration{0, 100, 1000, 1100, 2000, 2100} {
			id := fmt.Sprintf("load/w/%04d", i+1)
			if due := time.Duration(i) * 100 * time.Millisecond; b.due[id] != due || b.sent[id] != want*time.Millisecond {
				t.Errorf("%s was due at %v and sent at %v, want %v and %v", id, b.due[id], b.sent[id], due, want*time.Millisecond)
			}
		}
	})
}

func TestRunOpenLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBooked()
		stopped := context.AfterFunc(ctx, func() {})
		defer stopped()
		go func() {
			<-time.After(450 * time.Millisecond)
			cancel()
		}()
		r := Run(ctx, Options{Requests: requests(10), Arrivals: every(100*time.Millisecond, 10), nap: fakeNap, Do: b.takes(0)})
		if len(r.Exchanges) != 5 || !r.Interrupted || r.NotSent != 5 {
			t.Errorf("%d sent before Ctrl-C at 450 ms, want 5; interrupted %v", len(r.Exchanges), r.Interrupted)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := Run(t.Context(), Options{
			Requests: requests(10), Arrivals: every(100*time.Millisecond, 10), nap: fakeNap, GiveUp: 3,
			Do: func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
				e := answered(r)
				e.Failure = &exchange.Failure{Class: exchange.Refused}
				return e
			},
		})
		if !r.GaveUp || len(r.Exchanges) != 3 {
			t.Errorf("gave up %v after %d, want 3", r.GaveUp, len(r.Exchanges))
		}
	})
}

// A closed loop over 10 s with 2 slots and answers after 3 s: each slot sends
// at 0, 3, 6 and 9 s. What is in flight at the end is awaited.
func TestRunDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooked()
		var told []State
		r := Run(t.Context(), Options{
			Concurrency: 2, Requests: requests(100), Duration: 10 * time.Second, Do: b.takes(3 * time.Second),
			Progress: func(s State) { told = append(told, s) },
		})
		if len(r.Exchanges) != 8 || !r.TimeUp || r.NotSent != 92 {
			t.Errorf("%d sent, time up %v, %d not sent; want 8 and 92", len(r.Exchanges), r.TimeUp, r.NotSent)
		}
		if d := time.Since(b.start); d != 12*time.Second {
			t.Errorf("the load took %v, want 12 s with what was in flight", d)
		}
		if last := told[len(told)-1]; last.Total != 8 || last.Done != 8 {
			t.Errorf("last told %+v", last)
		}
	})
}

// Four slots that open over 4 s: one after each second.
func TestRunClosedRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooked()
		Run(t.Context(), Options{Concurrency: 4, Requests: requests(4), Ramp: 4 * time.Second, Do: b.takes(time.Hour)})
		seen := map[time.Duration]int{}
		for id, at := range b.sent {
			seen[at]++
			if b.due[id] != at {
				t.Errorf("%s was due at %v and sent at %v", id, b.due[id], at)
			}
		}
		for s := range 4 {
			if seen[time.Duration(s)*time.Second] != 1 {
				t.Errorf("requests by the time of their sending: %v, want one a second", seen)
				break
			}
		}
	})
}
