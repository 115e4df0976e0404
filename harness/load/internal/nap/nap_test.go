package nap

import (
	"testing"
	"time"
)

// What wakes up too soon would send before its time.
func TestForIsNeverShort(t *testing.T) {
	for _, d := range []time.Duration{0, 100 * time.Microsecond, 2 * time.Millisecond} {
		start := time.Now()
		For(d)
		if took := time.Since(start); took < d {
			t.Errorf("a nap of %v took %v", d, took)
		}
	}
}
