package probe

import (
	"context"
	"fmt"
	"sync"

	"touchstone/harness/exchange"
	"touchstone/harness/verdict"
)

// Session sends a plan and keeps what comes back. Each request is sent once:
// a retry would hide the defect that is looked for.
type Session struct {
	Do          func(context.Context, exchange.Request) *exchange.Exchange
	Keep        func(*exchange.Exchange) error // called from several goroutines
	Concurrency int                            // requests in flight at most, load apart
	Progress    func(area verdict.Area, done, total int)

	mu     sync.Mutex
	failed int // in a row, without any success
	good   int
	keep   error
}

// Hopeless is how many failures without a single success end a session: the
// server is dead, and waiting for each time-out would tell nothing more.
const Hopeless = 8

// Send sends the requests of an area and returns when the last one is kept, or
// when ctx ends. What was kept stays. The error is one of ours: a full disk.
func (s *Session) Send(ctx context.Context, area verdict.Area, plan []exchange.Request) error {
	work := make(chan exchange.Request)
	var wg sync.WaitGroup
	done := 0
	for range max(1, min(s.Concurrency, len(plan))) {
		wg.Go(func() {
			for r := range work {
				s.one(ctx, r)
				s.mu.Lock()
				done++
				if s.Progress != nil {
					s.Progress(area, done, len(plan))
				}
				s.mu.Unlock()
			}
		})
	}
	for _, r := range plan {
		if ctx.Err() != nil || s.over() {
			break
		}
		select {
		case work <- r:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep
}

func (s *Session) one(ctx context.Context, r exchange.Request) {
	x := s.Do(ctx, r)
	if ctx.Err() != nil && x.Failure != nil {
		return // interrupted: not the server's doing, and better missing than wrong
	}
	err := s.Keep(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.keep == nil {
		s.keep = fmt.Errorf("an exchange could not be kept: %w", err)
	}
	if x.Failure == nil {
		s.good++
	} else {
		s.failed++
	}
}

// over says whether going on is pointless: nothing can be kept, or nothing
// ever came back.
func (s *Session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep != nil || s.good == 0 && s.failed >= Hopeless
}

// Dead says whether the session ended early because nothing came back.
func (s *Session) Dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.good == 0 && s.failed >= Hopeless
}
