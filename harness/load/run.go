package load

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"touchstone/harness/exchange"
)

// Options say what is sent and how.
type Options struct {
	Name string // of the workload, for State
	// Do sends one request and returns what came back, never nil. It stamps
	// Timeline.Start when it is called: in a closed loop a request is due when
	// its slot becomes free, so that is the intended send time.
	Do       func(context.Context, exchange.Request) *exchange.Exchange
	Requests []exchange.Request
	Warmup   []exchange.Request // sent before and kept apart
	// Concurrency is how many requests are in flight at most, from 1 up.
	Concurrency int
	// GiveUp ends the load when this many requests failed in a row: the server
	// is dead, and waiting for each time-out would tell nothing more. 0: never.
	GiveUp int
	// OnDone gets every exchange, warm-up included, as soon as it is complete.
	// Calls come one after the other and hold no sender up.
	OnDone func(*exchange.Exchange)
	// Progress is called after each exchange and every second, between calls
	// of OnDone.
	Progress func(State)
}

// Result is what a load left behind. Exchanges are in the order of the plan,
// without those that were never sent.
type Result struct {
	Exchanges   []*exchange.Exchange
	Warmup      []*exchange.Exchange
	NotSent     int  // planned requests that were never sent, warm-up included
	Interrupted bool // ctx ended
	GaveUp      bool // see Options.GiveUp
}

// State is how far a load has come.
type State struct {
	Name     string
	Warmup   bool
	Total    int
	Done     int // complete, failed ones included
	Failed   int
	InFlight int
	Tokens   *int          // output tokens of the complete ones; nil: no server count yet
	Elapsed  time.Duration // since the first request of this phase
}

// tick is how often Progress is called while nothing completes.
const tick = time.Second

// Run sends the warm-up, waits for all of it, then sends the requests, each
// once: a retry would hide the defect that is looked for. It is a closed loop:
// the next request leaves when one in flight is complete. When ctx ends no
// more are sent, Do is expected to return, and what was done stays.
func Run(ctx context.Context, o Options) *Result {
	r := &Result{}
	r.Warmup = r.phase(ctx, o, true, o.Warmup)
	r.Exchanges = r.phase(ctx, o, false, o.Requests)
	r.NotSent = len(o.Warmup) + len(o.Requests) - len(r.Warmup) - len(r.Exchanges)
	r.Interrupted = ctx.Err() != nil
	return r
}

// senders is the state that the goroutines of one phase share.
type senders struct {
	Options
	requests []exchange.Request
	out      []*exchange.Exchange // by index in requests
	next     atomic.Int64         // index of the request to send next
	done     chan int             // index of a complete exchange; holds them all, so that no sender waits
	inARow   atomic.Int64         // failures
	gaveUp   atomic.Bool
	crash    atomic.Pointer[string]
	stop     func() // ends the handing out of requests
}

func (r *Result) phase(ctx context.Context, o Options, warmup bool, requests []exchange.Request) []*exchange.Exchange {
	if len(requests) == 0 || r.GaveUp || ctx.Err() != nil {
		return nil
	}
	// sending ends before ctx where the load gives up: those in flight go on.
	sending, stop := context.WithCancel(ctx)
	defer stop()
	s := &senders{Options: o, requests: requests, stop: stop,
		out: make([]*exchange.Exchange, len(requests)), done: make(chan int, len(requests))}
	var all sync.WaitGroup
	for range max(1, min(o.Concurrency, len(requests))) {
		all.Go(func() {
			defer s.rescue()
			s.send(ctx, sending)
		})
	}
	go func() {
		all.Wait()
		close(s.done)
	}()
	s.collect(State{Name: o.Name, Warmup: warmup, Total: len(requests)})
	if p := s.crash.Load(); p != nil {
		panic(*p)
	}
	kept := make([]*exchange.Exchange, 0, len(requests))
	for _, e := range s.out {
		if e != nil {
			kept = append(kept, e)
		}
	}
	r.GaveUp = s.gaveUp.Load() && len(kept) < len(requests)
	return kept
}

// send takes one request after the other until none is left.
func (s *senders) send(ctx, sending context.Context) {
	for sending.Err() == nil {
		i := int(s.next.Add(1)) - 1
		if i >= len(s.requests) {
			return
		}
		e := s.Do(ctx, s.requests[i])
		if e.Failure == nil {
			s.inARow.Store(0)
		} else if n := s.inARow.Add(1); s.GiveUp > 0 && n >= int64(s.GiveUp) {
			s.gaveUp.Store(true)
			s.stop()
		}
		s.out[i] = e
		s.done <- i
	}
}

// rescue hands a panic in a sender to the goroutine that called Run, where the
// program can turn it into an exit code.
func (s *senders) rescue() {
	if p := recover(); p != nil {
		text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
		s.crash.CompareAndSwap(nil, &text)
		s.stop()
	}
}

// collect passes on what is complete until all senders have ended.
func (s *senders) collect(state State) {
	start := time.Now()
	every := time.NewTicker(tick)
	defer every.Stop()
	report := func() {
		if s.Progress == nil {
			return
		}
		state.InFlight = min(int(s.next.Load()), state.Total) - state.Done
		state.Elapsed = time.Since(start)
		s.Progress(state)
	}
	for {
		select {
		case <-every.C:
			report()
		case i, open := <-s.done:
			if !open {
				return
			}
			e := s.out[i]
			state.Done++
			if e.Failure != nil {
				state.Failed++
			} else {
				state.add(e)
			}
			if s.OnDone != nil {
				s.OnDone(e)
			}
			report()
		}
	}
}

// add counts an exchange's tokens, for the eye only.
func (s *State) add(e *exchange.Exchange) {
	n, ok := glance(e.Raw)
	if !ok {
		return
	}
	if s.Tokens != nil {
		n += *s.Tokens
	}
	s.Tokens = &n
}
