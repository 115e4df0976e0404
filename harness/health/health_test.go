package health

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestWatchSeesWork(t *testing.T) {
	w := Start(t.Context())
	// Burn CPU until the clock of the process has moved by 50 ms.
	for from := cpuTime(); cpuTime()-from < 50*time.Millisecond; {
		continue
	}
	h := w.Stop()
	if h.CPUSeconds < 0.05 || h.Seconds <= 0 || h.Cores < 1 {
		t.Fatalf("50 ms of work were seen as %+v", h)
	}
	if want := h.CPUSeconds / h.Seconds / float64(h.Cores); h.CPUShare != want {
		t.Errorf("share %v, want %v", h.CPUShare, want)
	}
	if h.LagMaxMS < h.LagP99MS || h.LagP99MS < h.LagP50MS {
		t.Errorf("lags out of order: %+v", h)
	}
}

// Two ticks come one after the other, so that the watch is seen to tick
// without waiting for a time.
func TestWatchTicks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := Start(ctx)
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for range 5 {
		<-timer.C
	}
	cancel() // an interrupted load ends the watch as well
	<-w.done
	if h := w.Stop(); h.Ticks < 1 || h.TickMS != 10 {
		t.Errorf("after five ticks: %+v", h)
	}
}

// A client that stood still for 35 ms swallowed three more ticks, which were
// 25, 15 and 5 ms late.
func TestLateCountsWhatWasSwallowed(t *testing.T) {
	w := &Watch{}
	w.late(35 * time.Millisecond)
	w.late(-time.Microsecond)
	want := []float64{35, 25, 15, 5, 0}
	if len(w.lags) != len(want) {
		t.Fatalf("lags %v, want %v", w.lags, want)
	}
	for i := range want {
		if w.lags[i] != want[i] {
			t.Errorf("lags %v, want %v", w.lags, want)
		}
	}
}

func TestFiles(t *testing.T) {
	if err := files(1024, 1088, 1088); err != nil {
		t.Errorf("just enough: %v", err)
	}
	if err := Files(1); err != nil {
		t.Errorf("one request: %v", err)
	}
	for name, c := range map[string]struct {
		soft, hard uint64
		words      []string
	}{
		"soft limit": {1024, 4096, []string{"1024 requests in flight need 1088 open files", "may open 1024", "ulimit -n 1088", "lower the concurrency to 960"}},
		"hard limit": {1024, 1024, []string{"the hard limit is 1024", "nofile=1088"}},
		"tiny":       {20, 20, []string{"may open 20"}},
	} {
		err := files(1024, c.soft, c.hard)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
		if name == "tiny" && strings.Contains(err.Error(), "lower") {
			t.Errorf("no concurrency fits, yet: %q", err)
		}
	}
}
