package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"touchstone/harness/exchange"
)

// limitError is the cause with which a call's context is cancelled when one of
// its time limits is over.
type limitError struct {
	class  exchange.Class
	detail string
}

func (e *limitError) Error() string { return string(e.class) + ": " + e.detail }

type phase int

const (
	connecting     phase = iota // limited by the dialer
	awaitingHeader              // connected, no status line yet
	reading                     // the body
	lingering                   // after [DONE]
)

// lingerLimit is how long the end of the body may take after [DONE]. Servers
// send both in one write; one that leaves the connection open is no failure.
const lingerLimit = time.Second

// watch cancels a call whose phase takes too long. One timer serves all
// phases. While a body is read nobody touches it: when it fires, the bytes
// that are there are decoded to find the last token, and it is set again for
// what is left. So pings, comments and chunks without a token are no sign of
// life, and the hot path pays nothing for that.
type watch struct {
	limits   Timeouts
	streamed bool
	now      func() time.Duration // since the call's start
	token    func() (at time.Duration, ok bool)
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	phase   phase
	entered time.Duration // when the phase began
	ended   bool
}

// connected starts the wait for the status line. That of a reply in one piece
// comes with its last token, so only the total limit applies to it.
func (w *watch) connected() {
	if w.streamed {
		w.enter(awaitingHeader, w.limits.Header)
	} else {
		w.enter(awaitingHeader, never)
	}
}

// header starts the wait for the first token. The timer fires early if a
// stall could be noticed earlier than that.
func (w *watch) header() { w.enter(reading, min(w.limits.FirstToken, w.limits.Stall)) }

// linger starts the wait for the end of a body that is complete.
func (w *watch) linger() { w.enter(lingering, lingerLimit) }

// in says in which phase the call is.
func (w *watch) in() phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase
}

// end stops the timer for good.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) enter(p phase, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.phase, w.entered = p, w.now()
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.fire)
	} else {
		w.timer.Reset(limit)
	}
}

func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	over, left := w.judge()
	if over != nil {
		w.cancel(over)
		return
	}
	w.timer.Reset(left)
}

// judge says whether the phase's limit is over, else when to look again.
func (w *watch) judge() (over *limitError, left time.Duration) {
	switch w.phase {
	case awaitingHeader:
		left = w.entered + w.limits.Header - w.now()
		over = &limitError{exchange.TimeoutHeader, fmt.Sprintf("connected, but no status line within %s", w.limits.Header)}
	case reading:
		at, ok := w.token()
		if !ok {
			left = w.entered + w.limits.FirstToken - w.now()
			over = &limitError{exchange.TimeoutFirst, fmt.Sprintf("no token within %s of the status line", w.limits.FirstToken)}
			break
		}
		left = at + w.limits.Stall - w.now()
		over = &limitError{exchange.TimeoutStall, fmt.Sprintf("no token for %s after the one at %s", w.limits.Stall, at.Round(time.Millisecond))}
	case lingering:
		left = w.entered + lingerLimit - w.now()
		over = &limitError{"", "the body did not end after [DONE]"}
	}
	if left <= 0 {
		return over, 0
	}
	// A token may come right after this look, and then stall.
	return nil, min(left, w.limits.Stall)
}
