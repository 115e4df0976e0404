package sched

import (
	"math"
	"strings"
	"testing"
	"time"

	"touchstone/harness/refserver/llama"
)

// still is an engine that never runs: its clock can be asked.
func still(o Options) *Engine { return &Engine{opt: o, drift: drift{seed: o.Seed}} }

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestLength(t *testing.T) {
	const ms = time.Millisecond
	half := func(_ Step, d time.Duration) time.Duration { return d / 2 }
	later := func(s Step, d time.Duration) time.Duration { return d + time.Duration(s.Sequences)*ms }
	for name, c := range map[string]struct {
		opt    Options
		step   Step
		worked time.Duration
		want   time.Duration
	}{
		"free":            {Options{}, Step{PromptTokens: 9}, 7 * ms, 7 * ms},
		"paced":           {Options{StepTime: 10 * ms}, Step{}, 7 * ms, 10 * ms},
		"late":            {Options{StepTime: 10 * ms}, Step{}, 17 * ms, 17 * ms},
		"prefill":         {Options{StepTime: 10 * ms, PrefillTime: ms}, Step{PromptTokens: 5}, 7 * ms, 15 * ms},
		"hooks, in order": {Options{StepTime: 10 * ms, Paces: []Pace{half, later}}, Step{Sequences: 3}, 7 * ms, 8 * ms},
		"hook, unpaced":   {Options{Paces: []Pace{later}}, Step{Sequences: 3}, 7 * ms, 10 * ms},
	} {
		if got := still(c.opt).length(c.step, c.worked, noon); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The jitter's logarithm has mean 0, the standard deviation that was asked for,
// and the correlation exp(−Δt/relaxation). Over 400,000 s of samples, 4 to a
// relaxation time, about 400000/(2·30) = 6,700 are independent: the mean lies
// within 4/√6700 = 0.05 of 0 and the deviation within 4/√(2·6700) = 0.035 of 1.
func TestJitter(t *testing.T) {
	const jitter, every, n = 0.02, relaxation / 4, 53000
	e := still(Options{StepTime: 10 * time.Millisecond, StepJitter: jitter, Seed: 1})
	xs := make([]float64, n)
	for i := range xs {
		d := e.length(Step{}, 0, noon.Add(time.Duration(i)*every))
		xs[i] = math.Log(float64(d)/float64(10*time.Millisecond)) / jitter
	}
	mean, square, lagged := 0.0, 0.0, 0.0
	for i, x := range xs {
		mean += x / n
		square += x * x / n
		if i >= 4 {
			lagged += x * xs[i-4] / n
		}
	}
	if math.Abs(mean) > 0.05 || math.Abs(math.Sqrt(square)-1) > 0.035 {
		t.Errorf("mean %.3f and deviation %.3f of the drift, want 0 and 1", mean, math.Sqrt(square))
	}
	if want := math.Exp(-1); math.Abs(lagged-want) > 0.05 {
		t.Errorf("correlation %.3f after one relaxation time, want %.3f", lagged, want)
	}
}

// Two servers with one seed drift together, whenever each was started; with two
// seeds they don't.
func TestJitterIsTheMachines(t *testing.T) {
	opt := Options{StepTime: time.Second, StepJitter: 0.1, Seed: 7}
	early, other := still(opt), still(Options{StepTime: time.Second, StepJitter: 0.1, Seed: 8})
	for at := noon.Add(-time.Hour); at.Before(noon); at = at.Add(time.Minute) {
		early.length(Step{}, 0, at)
	}
	a, b, c := early.length(Step{}, 0, noon), still(opt).length(Step{}, 0, noon), other.length(Step{}, 0, noon)
	if d := math.Abs(float64(a-b)) / float64(time.Second); d > 1e-3 || a == c {
		t.Errorf("steps of %v and %v with one seed, %v with another", a, b, c)
	}
	// The clock goes back: the same length again.
	early.length(Step{}, 0, noon.Add(time.Hour))
	if again := early.length(Step{}, 0, noon); math.Abs(float64(again-b)) > 1e-3*float64(time.Second) {
		t.Errorf("%v after the clock went back, want %v", again, b)
	}
}

// The hook sees what the step holds: a prompt in two chunks, a prompt from the
// cache, and decoding.
func TestPaceSees(t *testing.T) {
	var seen []Step
	e := start(t, newFake(t, 64), Options{NumBlocks: 64, MaxModelLen: 200, MaxNumBatchedTokens: 64,
		Paces: []Pace{func(s Step, d time.Duration) time.Duration { seen = append(seen, s); return d }}})
	collect(t, submit(t, e, greedyRequest(prompt(1, 100), 2)))
	collect(t, submit(t, e, greedyRequest(prompt(1, 100), 1)))
	e.Close() // its goroutine has ended: seen is ours
	cached := 100 / llama.BlockSize * llama.BlockSize
	want := []Step{{1, 64, 100, 100}, {1, 36, 100, 100}, {1, 0, 0, 101}, {1, 100 - cached, 100, 100}}
	if len(seen) != len(want) {
		t.Fatalf("steps %+v, want %+v", seen, want)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("step %d is %+v, want %+v", i, seen[i], want[i])
		}
	}
}

func TestPaceRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		"step-time is -1ns":    {StepTime: -1},
		"prefill-time is -1ns": {PrefillTime: -1},
		"from 0 to 20 %":       {StepTime: 1, StepJitter: 0.3},
		"step-jitter is -1 %":  {StepTime: 1, StepJitter: -0.01},
		"step-jitter is NaN %": {StepTime: 1, StepJitter: math.NaN()},
		"give a step-time too": {StepJitter: 0.02},
	} {
		o.NumBlocks, o.MaxModelLen = 7, 100
		if _, err := o.WithDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", o, err, want)
		}
	}
}
