//go:build !linux

package nap

import "time"

// Early is 0: the runtime's timers are all there is here, and the schedule lag
// that is recorded shows what they do.
const Early = 0

// For sleeps for a short time.
func For(d time.Duration) { <-time.After(d) }
