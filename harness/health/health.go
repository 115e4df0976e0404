// Package health watches this program while it makes load: a client that has
// no time left to read measures itself, and nothing in its numbers says so.
package health

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"touchstone/harness/stat"
)

// Health is how the client was during a load. It is plain data, and kept with
// the run.
type Health struct {
	Seconds    float64 `json:"seconds"`     // that were watched
	Cores      int     `json:"cores"`       // that the client may use
	CPUSeconds float64 `json:"cpu_seconds"` // user and system, of the whole process
	CPUShare   float64 `json:"cpu_share"`   // cpu_seconds ÷ (seconds × cores): 0 to 1

	GCs          int64   `json:"gcs"`
	GCPauseMS    float64 `json:"gc_pause_ms"`     // all pauses together
	GCPauseMaxMS float64 `json:"gc_pause_max_ms"` // the longest one

	// How late a timer of TickMS woke its goroutine: a read that is due then is
	// as late. Ticks that a late one swallowed count with what they missed.
	Ticks    int     `json:"ticks"`
	TickMS   float64 `json:"tick_ms"`
	LagP50MS float64 `json:"lag_p50_ms"`
	LagP99MS float64 `json:"lag_p99_ms"`
	LagMaxMS float64 `json:"lag_max_ms"`
}

// tick is how often the lag is looked at: a hundred times a second cost
// nothing that can be measured, and 1 s gives a 99th percentile.
const tick = 10 * time.Millisecond

// Watch is a client under observation.
type Watch struct {
	start time.Time
	cpu   time.Duration
	gc    debug.GCStats
	stop  context.CancelFunc
	done  chan struct{}
	lags  []float64 // milliseconds; the goroutine's until done is closed
}

// Start begins to watch, until Stop or the end of ctx.
func Start(ctx context.Context) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{start: time.Now(), cpu: cpuTime(), stop: stop, done: make(chan struct{})}
	debug.ReadGCStats(&w.gc)
	go w.run(ctx)
	return w
}

// run waits for one tick after the other. A ticker drops what nobody fetched,
// so a timer is set anew each time.
func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	due := time.Now().Add(tick)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			now := time.Now()
			w.late(now.Sub(due))
			due = now.Add(tick)
			timer.Reset(tick)
		}
	}
}

// late books a lag, and that of each tick which would have been due meanwhile:
// without them a client that stood still for a second would count as one late
// tick among hundreds (HdrHistogram's recordValueWithExpectedInterval).
func (w *Watch) late(lag time.Duration) {
	for ; ; lag -= tick {
		w.lags = append(w.lags, milliseconds(max(0, lag)))
		if lag <= tick {
			return
		}
	}
}

// Stop ends the watching and says what was seen. It may be called again, and
// says the same of a longer time then.
func (w *Watch) Stop() Health {
	w.stop()
	<-w.done
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	h := Health{
		Seconds: time.Since(w.start).Seconds(), Cores: runtime.GOMAXPROCS(0), CPUSeconds: (cpuTime() - w.cpu).Seconds(),
		GCs: gc.NumGC - w.gc.NumGC, GCPauseMS: milliseconds(gc.PauseTotal - w.gc.PauseTotal),
		Ticks: len(w.lags), TickMS: milliseconds(tick),
	}
	// Pause holds the latest ones first, and not all of a long load.
	if n := min(int(h.GCs), len(gc.Pause)); n > 0 {
		h.GCPauseMaxMS = milliseconds(slices.Max(gc.Pause[:n]))
	}
	if h.Seconds > 0 {
		h.CPUShare = h.CPUSeconds / h.Seconds / float64(h.Cores)
	}
	if s := stat.Summarize(w.lags); s != nil {
		h.LagP50MS, h.LagP99MS, h.LagMaxMS = s.P50, s.P99, s.Max
	}
	return h
}

// cpuTime is what the process has used so far, user and system; 0 where the
// system doesn't tell.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
