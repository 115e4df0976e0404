package sched

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Step describes a step of the engine to whoever decides how long it takes.
type Step struct {
	Sequences     int // with rows in the step
	PromptTokens  int // rows of prompts; those from the cache have none
	LongestPrompt int // tokens of the longest prompt that has such rows, cached ones included
	Longest       int // tokens of the longest sequence in the step, prompt and output
}

// Pace changes how long a step lasts; length is what it would last without. It
// is the hook on the engine's clock: a step waits for its end, and never ends
// before its arithmetic does. Called from the engine's goroutine, once a step
// and in their order, so a Pace may remember.
type Pace func(s Step, length time.Duration) time.Duration

// JitterLimit is the largest StepJitter.
const JitterLimit = 0.2

func (o Options) checkPace() error {
	switch {
	case o.StepTime < 0:
		return fmt.Errorf("step-time is %v, it cannot be negative", o.StepTime)
	case o.PrefillTime < 0:
		return fmt.Errorf("prefill-time is %v, it cannot be negative", o.PrefillTime)
	case !(o.StepJitter >= 0 && o.StepJitter <= JitterLimit):
		return fmt.Errorf("step-jitter is %g %%, it must be from 0 to %g %%", 100*o.StepJitter, 100*JitterLimit)
	case o.StepJitter > 0 && o.StepTime == 0:
		return fmt.Errorf("step-jitter is %g %% of nothing: give a step-time too, such as 10ms", 100*o.StepJitter)
	}
	return nil
}

// describe fills in a Step from the batch in hand.
func (b *batch) describe() Step {
	s := Step{Sequences: len(b.shares)}
	for _, sh := range b.shares {
		q := sh.seq
		s.Longest = max(s.Longest, len(q.tokens))
		if n := min(q.computed+sh.n, len(q.req.Prompt)) - q.computed; n > 0 {
			s.PromptTokens += n
			s.LongestPrompt = max(s.LongestPrompt, len(q.req.Prompt))
		}
	}
	return s
}

// length is how long a step has to last whose arithmetic took worked and
// began at start:
//
//	max(worked, (StepTime + PrefillTime·prompt tokens) · exp(StepJitter·x(start)))
//
// as the hooks change it, one after the other.
func (e *Engine) length(s Step, worked time.Duration, start time.Time) time.Duration {
	o := &e.opt
	length := o.StepTime + time.Duration(s.PromptTokens)*o.PrefillTime
	if o.StepJitter > 0 {
		length = time.Duration(float64(length) * math.Exp(o.StepJitter*e.drift.at(start)))
	}
	length = max(length, worked)
	for _, p := range o.Paces {
		length = p(s, length)
	}
	return length
}

// The drift is an autoregressive process of first order,
//
//	x(n) = φ·x(n−1) + √(1−φ²)·ε(n),  φ = exp(−tick/relaxation),
//
// of mean 0 and standard deviation 1, over the ticks of the wall clock; ε(n) is
// a standard normal number that depends on the seed and n alone. So two servers
// with one seed drift together, as two builds on one machine do, and with two
// seeds apart. The relaxation time is several rounds of a short load: rounds
// next to each other are more alike than rounds far apart.
const (
	tick       = 100 * time.Millisecond
	relaxation = 30 * time.Second
	memory     = 8 * int64(relaxation/tick) // ticks; what is older weighs under exp(−8)
)

type drift struct {
	seed  int64
	tick  int64 // that x is of; 0: none yet
	value float64
}

// at returns x at a time. Times should not go backwards by much: each step back
// costs the whole memory.
func (d *drift) at(t time.Time) float64 {
	n := t.UnixNano() / int64(tick)
	if d.tick == 0 || n < d.tick || n > d.tick+memory {
		d.tick, d.value = n-memory, d.normal(n-memory)
	}
	phi := math.Exp(-float64(tick) / float64(relaxation))
	for d.tick < n {
		d.tick++
		d.value = phi*d.value + math.Sqrt(1-phi*phi)*d.normal(d.tick)
	}
	return d.value
}

func (d *drift) normal(n int64) float64 {
	return rand.New(rand.NewPCG(uint64(d.seed), uint64(n))).NormFloat64()
}
