package load

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load/arrival"
	"touchstone/harness/load/internal/nap"
)

// Options say what is sent and how.
type Options struct {
	Name string // of the workload, for State
	// Do sends one request and returns what came back, never nil. intended is
	// when the request was due: in an open loop the moment that the schedule
	// names, in a closed one the moment in which its slot became free. All
	// latencies count from there, so that a queue in the client is never hidden.
	Do       func(ctx context.Context, intended time.Time, r exchange.Request) *exchange.Exchange
	Requests []exchange.Request
	Warmup   []exchange.Request // sent before and kept apart, in a closed loop
	// Concurrency is how many requests are in flight at most, from 1 up. In an
	// open loop 0 is no limit; one that has to wait for a slot is late, and that
	// counts.
	Concurrency int
	Arrivals    []time.Duration // of sessions, from the start on: see arrival.Schedule; nil: a closed loop
	Ramp        time.Duration   // closed loop: slots open one after the other over so long
	Duration    time.Duration   // no request leaves later; what is in flight is awaited. 0: no limit
	// GiveUp ends the load when this many requests failed in a row: the server
	// is dead, and waiting for each time-out would tell nothing more. 0: never.
	GiveUp int
	// OnDone gets every exchange, warm-up included, as soon as it is complete.
	// Calls come one after the other and hold no sender up.
	OnDone func(*exchange.Exchange)
	// Measured is called once the warm-up is over, before the first request
	// that counts: the moment to look at the server and the client. May be nil.
	Measured func()
	// Progress is called after each exchange and every second, between calls
	// of OnDone.
	Progress func(State)

	nap func(time.Duration) // what a test with a clock of its own puts in its place
}

// For returns the options of a workload's load. Do and the callbacks are the
// caller's.
func For(w fixture.Workload, salt int64, requests, warmup []exchange.Request) Options {
	return Options{
		Name: w.Name, Requests: requests, Warmup: warmup, Concurrency: w.Concurrency,
		Arrivals: arrival.Schedule(w, salt, len(sessions(requests))), Ramp: w.Ramp, Duration: w.Duration,
	}
}

// Result is what a load left behind. Exchanges are in the order of the plan,
// without those that were never sent.
type Result struct {
	Exchanges   []*exchange.Exchange
	Warmup      []*exchange.Exchange
	NotSent     int  // planned requests that were never sent, warm-up included
	Interrupted bool // ctx ended
	GaveUp      bool // see Options.GiveUp
	TimeUp      bool // Options.Duration ended the load, so NotSent is as it should be
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
	Elapsed  time.Duration // since the start of this phase
	Limit    time.Duration // when the last request leaves, where time says so and not their number; else 0
}

// tick is how often Progress is called while nothing completes.
const tick = time.Second

// Run sends the warm-up, waits for all of it, then sends the requests, each
// once: a retry would hide the defect that is looked for. In a closed loop the
// next request leaves when one in flight is complete; in an open loop requests
// leave by the schedule, whatever is in flight. A turn of a session leaves when
// the turn before it is complete. When ctx ends no more are sent, Do is
// expected to return, and what was done stays.
func Run(ctx context.Context, o Options) *Result {
	if o.nap == nil {
		o.nap = nap.For
	}
	r := &Result{}
	warm := o
	warm.Arrivals, warm.Ramp, warm.Duration = nil, 0, 0
	if o.Concurrency == 0 {
		warm.Concurrency = warmTogether
	}
	r.Warmup = r.phase(ctx, warm, true, o.Warmup)
	if o.Measured != nil && ctx.Err() == nil {
		o.Measured()
	}
	r.Exchanges = r.phase(ctx, o, false, o.Requests)
	r.NotSent = len(o.Warmup) + len(o.Requests) - len(r.Warmup) - len(r.Exchanges)
	r.Interrupted = ctx.Err() != nil
	return r
}

// warmTogether is how many requests of the warm-up are in flight at most where
// the load itself has no limit.
const warmTogether = 8

// senders is the state that the goroutines of one phase share.
type senders struct {
	Options
	start    time.Time
	requests []exchange.Request
	units    [][]int              // sessions: indices in requests
	out      []*exchange.Exchange // by index in requests
	next     atomic.Int64         // index of the unit to send next
	sent     atomic.Int64         // requests
	done     chan int             // index of a complete exchange; holds them all, so that no sender waits
	inARow   atomic.Int64         // failures
	gaveUp   atomic.Bool
	timeUp   atomic.Bool
	crash    atomic.Pointer[string]
	stop     func() // ends the handing out of requests
	all      sync.WaitGroup
}

func (r *Result) phase(ctx context.Context, o Options, warmup bool, requests []exchange.Request) []*exchange.Exchange {
	if len(requests) == 0 || r.GaveUp || ctx.Err() != nil {
		return nil
	}
	// sending ends before ctx where the load gives up: those in flight go on.
	sending, stop := context.WithCancel(ctx)
	defer stop()
	s := &senders{Options: o, start: time.Now(), requests: requests, units: sessions(requests), stop: stop,
		out: make([]*exchange.Exchange, len(requests)), done: make(chan int, len(requests))}
	state := State{Name: o.Name, Warmup: warmup, Total: len(requests), Limit: o.Duration}
	if n := len(o.Arrivals); n > 0 {
		state.Limit = o.Arrivals[n-1]
	}
	if o.Arrivals != nil {
		s.open(ctx, sending)
	} else {
		s.closed(ctx, sending)
	}
	go func() {
		s.all.Wait()
		close(s.done)
	}()
	s.collect(state)
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
	if !warmup {
		r.TimeUp = s.timeUp.Load()
	}
	return kept
}

// closed starts the senders of a closed loop, one for each slot.
func (s *senders) closed(ctx, sending context.Context) {
	slots := max(1, min(s.Concurrency, len(s.units)))
	for slot := range slots {
		s.spawn(func() {
			if !s.await(sending, time.Duration(slot)*s.Ramp/time.Duration(slots)) {
				return
			}
			// ctx too: a context is cancelled before those derived from it are.
			for ctx.Err() == nil && sending.Err() == nil && !s.over() {
				i := int(s.next.Add(1)) - 1
				if i >= len(s.units) {
					return
				}
				s.unit(ctx, sending, i, time.Now())
			}
		})
	}
}

// open starts the dispatcher of an open loop. With a limit, units that are due
// wait for a slot in the order of the schedule; their intended time stays.
func (s *senders) open(ctx, sending context.Context) {
	n := min(len(s.Arrivals), len(s.units))
	if n < len(s.units) && s.Duration > 0 {
		s.timeUp.Store(true) // the schedule ends with the duration
	}
	due := make(chan int, n)
	send := func(i int) { s.unit(ctx, sending, i, s.start.Add(s.Arrivals[i])) }
	for range min(s.Concurrency, n) {
		s.spawn(func() {
			for i := range due {
				if ctx.Err() == nil && sending.Err() == nil {
					send(i)
				}
			}
		})
	}
	s.spawn(func() {
		defer close(due)
		for i := range n {
			switch {
			case !s.awaitExactly(sending, s.Arrivals[i]):
				return
			case s.Concurrency > 0:
				due <- i
			default:
				s.spawn(func() { send(i) })
			}
		}
	})
}

func (s *senders) spawn(f func()) {
	s.all.Go(func() {
		defer s.rescue()
		f()
	})
}

// await waits until so long after the start, and says whether to go on.
func (s *senders) await(sending context.Context, after time.Duration) bool {
	left := after - time.Since(s.start)
	if left <= 0 {
		return sending.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return sending.Err() == nil
	case <-sending.Done():
		return false
	}
}

// awaitExactly is await to a tenth of a millisecond.
func (s *senders) awaitExactly(sending context.Context, after time.Duration) bool {
	if !s.await(sending, after-nap.Early) {
		return false
	}
	for left := after - time.Since(s.start); left > 0; left = after - time.Since(s.start) {
		s.nap(left)
	}
	return sending.Err() == nil
}

// over says whether the time for sending has passed.
func (s *senders) over() bool {
	if s.Duration <= 0 || time.Since(s.start) < s.Duration {
		return false
	}
	s.timeUp.Store(true)
	return true
}

// unit sends a session, turn after turn. The turns after one that failed are
// not sent: there is no answer to go on from.
func (s *senders) unit(ctx, sending context.Context, i int, intended time.Time) {
	var before *exchange.Exchange
	for k, at := range s.units[i] {
		r := s.requests[at]
		if k > 0 {
			intended = time.Now() // the user has the answer and goes on at once
			if ctx.Err() != nil || sending.Err() != nil || before.Failure != nil || s.over() {
				return
			}
			r = follow(before, r)
		}
		before = s.one(ctx, at, intended, r)
	}
}

// one sends one request.
func (s *senders) one(ctx context.Context, at int, intended time.Time, r exchange.Request) *exchange.Exchange {
	s.sent.Add(1)
	e := s.Do(ctx, intended, r)
	if e.Failure == nil {
		s.inARow.Store(0)
	} else if n := s.inARow.Add(1); s.GiveUp > 0 && n >= int64(s.GiveUp) {
		s.gaveUp.Store(true)
		s.stop()
	}
	s.out[at] = e
	s.done <- at
	return e
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
	every := time.NewTicker(tick)
	defer every.Stop()
	report := func() {
		if s.Progress == nil {
			return
		}
		state.InFlight = int(s.sent.Load()) - state.Done
		state.Elapsed = time.Since(s.start)
		s.Progress(state)
	}
	for {
		select {
		case <-every.C:
			report()
		case i, open := <-s.done:
			if !open {
				if s.timeUp.Load() && state.Done < state.Total {
					state.Total = state.Done // which is all there was time for
					report()
				}
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
