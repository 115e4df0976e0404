// Package nap sleeps for less than the timers of the runtime can.
package nap

import (
	"syscall"
	"time"
)

// Early is how long before its time the dispatcher of an open loop stops
// trusting the runtime's timers, which wake up a millisecond late: their
// poller counts in whole ones. The kernel's own sleep is late by 50 µs.
const Early = 2 * time.Millisecond

// For sleeps for a short time, exactly. It holds a thread, so only the
// dispatcher does it.
func For(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&t, &t) == syscall.EINTR { // a signal, as the scheduler sends; t is what is left
	}
}
