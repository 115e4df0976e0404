package load

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"touchstone/harness/exchange"
)

func requests(n int) []exchange.Request {
	rs := make([]exchange.Request, n)
	for i := range rs {
		rs[i] = exchange.Request{ID: fmt.Sprintf("load/w/%04d", i+1)}
	}
	return rs
}

func answered(r exchange.Request) *exchange.Exchange {
	return &exchange.Exchange{Request: r, Raw: exchange.Bytes(`{"usage":{"completion_tokens":10}}`)}
}

// TestRunHoldsTheCap looks whenever every sender is blocked: the load is then
// exactly as high as the cap allows, no higher and no lower.
func TestRunHoldsTheCap(t *testing.T) {
	for _, concurrency := range []int{1, 3, 8, 1024} {
		synctest.Test(t, func(t *testing.T) {
			const n = 40
			leave, finished := make(chan struct{}), make(chan *Result, 1)
			var inFlight atomic.Int64
			go func() {
				finished <- Run(t.Context(), Options{
					Concurrency: concurrency, Requests: requests(n),
					Do: func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
						inFlight.Add(1)
						<-leave
						inFlight.Add(-1)
						return answered(r)
					},
				})
			}()
			for left := n; left > 0; left-- {
				synctest.Wait()
				if got, want := inFlight.Load(), int64(min(concurrency, left)); got != want {
					t.Fatalf("concurrency %d: %d in flight with %d requests left, want %d", concurrency, got, left, want)
				}
				leave <- struct{}{}
			}
			if r := <-finished; len(r.Exchanges) != n || r.NotSent != 0 || r.Interrupted || r.GaveUp {
				t.Errorf("concurrency %d: %d exchanges, %d not sent", concurrency, len(r.Exchanges), r.NotSent)
			}
		})
	}
}

func TestRunSendsEachOnceInOrderOfPlan(t *testing.T) {
	var sent [100]atomic.Int64
	var done []string
	r := Run(t.Context(), Options{
		Concurrency: 7, Requests: requests(100),
		Do: func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
			var i int
			if _, err := fmt.Sscanf(r.ID, "load/w/%d", &i); err != nil {
				t.Error(err)
			}
			sent[i-1].Add(1)
			return answered(r)
		},
		OnDone: func(e *exchange.Exchange) { done = append(done, e.Request.ID) }, // no lock: calls come one by one
	})
	for i := range sent {
		if sent[i].Load() != 1 {
			t.Errorf("request %d was sent %d times", i+1, sent[i].Load())
		}
		if got := r.Exchanges[i].Request.ID; got != fmt.Sprintf("load/w/%04d", i+1) {
			t.Errorf("exchange %d is %s", i, got)
		}
	}
	if len(done) != 100 {
		t.Errorf("OnDone was called %d times", len(done))
	}
}

func TestRunWarmsUpFirst(t *testing.T) {
	warm := []exchange.Request{{ID: "load/w/warmup-01"}, {ID: "load/w/warmup-02"}}
	var warmed atomic.Int64
	phases := ""
	r := Run(t.Context(), Options{
		Name: "w", Concurrency: 8, Requests: requests(5), Warmup: warm,
		Do: func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
			if IsWarmup(r) {
				warmed.Add(1)
			} else if warmed.Load() != 2 {
				t.Error("a measured request was sent before the warm-up had ended")
			}
			return answered(r)
		},
		Progress: func(s State) {
			if s.Done == s.Total {
				phases += fmt.Sprint(s.Warmup, s.Total, *s.Tokens, " ")
			}
		},
	})
	if len(r.Warmup) != 2 || len(r.Exchanges) != 5 {
		t.Errorf("%d warm-up and %d measured exchanges", len(r.Warmup), len(r.Exchanges))
	}
	if phases != "true 2 20 false 5 50 " {
		t.Errorf("progress told %q", phases)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := Run(ctx, Options{
		Concurrency: 2, Requests: requests(10),
		Do: func(ctx context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
			if r.ID == "load/w/0003" {
				cancel() // Ctrl-C in the middle
			}
			if r.ID >= "load/w/0003" {
				<-ctx.Done()
				return &exchange.Exchange{Request: r, Failure: &exchange.Failure{Class: exchange.Cancelled}}
			}
			return answered(r)
		},
	})
	// Two senders: besides 3, at most one more was under way.
	if n := len(r.Exchanges); n < 3 || n > 4 || n+r.NotSent != 10 || !r.Interrupted {
		t.Errorf("%d kept, %d not sent, interrupted %v", n, r.NotSent, r.Interrupted)
	}
	if r.Exchanges[0].Failure != nil {
		t.Error("what was done before was lost")
	}
	late := Run(ctx, Options{Concurrency: 2, Requests: requests(10), Warmup: requests(1),
		Do: func(context.Context, time.Time, exchange.Request) *exchange.Exchange { panic("sent after the end") }})
	if late.NotSent != 11 || !late.Interrupted {
		t.Errorf("%d not sent, want all 11", late.NotSent)
	}
}

func TestRunGivesUp(t *testing.T) {
	sent := 0
	do := func(bad func(i int) bool) func(context.Context, time.Time, exchange.Request) *exchange.Exchange {
		sent = 0
		return func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
			sent++
			e := answered(r)
			if bad(sent) {
				e.Failure = &exchange.Failure{Class: exchange.Refused}
			}
			return e
		}
	}
	r := Run(t.Context(), Options{Concurrency: 1, GiveUp: 3, Requests: requests(99), Do: do(func(i int) bool { return i > 10 })})
	if !r.GaveUp || r.Interrupted || len(r.Exchanges) != 13 || r.NotSent != 86 {
		t.Errorf("gave up %v after %d, %d not sent; want 13 and 86", r.GaveUp, len(r.Exchanges), r.NotSent)
	}
	r = Run(t.Context(), Options{Concurrency: 1, GiveUp: 3, Requests: requests(99), Warmup: requests(9), Do: do(func(int) bool { return true })})
	if !r.GaveUp || len(r.Warmup) != 3 || len(r.Exchanges) != 0 || r.NotSent != 105 {
		t.Errorf("gave up %v in the warm-up after %d, %d not sent", r.GaveUp, len(r.Warmup), r.NotSent)
	}
	r = Run(t.Context(), Options{Concurrency: 1, GiveUp: 3, Requests: requests(99), Do: do(func(i int) bool { return i%3 != 0 })})
	if r.GaveUp || r.NotSent != 0 {
		t.Error("gave up though every third request succeeded")
	}
	r = Run(t.Context(), Options{Concurrency: 1, Requests: requests(99), Do: do(func(int) bool { return true })})
	if r.GaveUp || len(r.Exchanges) != 99 {
		t.Error("gave up without being told when")
	}
}

func TestRunPassesOnAPanic(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "nil map") {
			t.Errorf("recovered %v, want the panic of the sender", p)
		}
	}()
	Run(t.Context(), Options{Concurrency: 4, Requests: requests(50),
		Do: func(context.Context, time.Time, exchange.Request) *exchange.Exchange { panic("nil map") }})
}

// TestRunTellsWhileItWaits uses a fake clock: at 36 s a request, nothing
// completes for long, and a person wants to see that it lives.
func TestRunTellsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []State
		Run(t.Context(), Options{
			Name: "founding", Concurrency: 4, Requests: requests(4),
			Do: func(ctx context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
				<-time.After(36 * time.Second)
				return answered(r)
			},
			Progress: func(s State) { told = append(told, s) },
		})
		waiting := 0
		for _, s := range told {
			if s.Done == 0 {
				waiting++
				if s.InFlight != 4 || s.Tokens != nil {
					t.Errorf("%+v while nothing is complete", s)
				}
			}
		}
		if waiting < 35 {
			t.Errorf("told %d times in 36 s of waiting", waiting)
		}
		last := told[len(told)-1]
		if last.Done != 4 || last.InFlight != 0 || *last.Tokens != 40 || last.Elapsed != 36*time.Second {
			t.Errorf("last told %+v", last)
		}
	})
}

// The look at server and client comes after the warm-up and before all else.
func TestRunMeasured(t *testing.T) {
	var order []string
	Run(t.Context(), Options{
		Concurrency: 1, Requests: requests(2), Warmup: []exchange.Request{{ID: "load/w/warmup-01"}},
		Measured: func() { order = append(order, "measured") },
		Do: func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
			order = append(order, r.ID)
			return answered(r)
		},
	})
	if got := strings.Join(order, " "); got != "load/w/warmup-01 measured load/w/0001 load/w/0002" {
		t.Errorf("order: %s", got)
	}
}
