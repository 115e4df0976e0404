// Package arrival says when the requests of an open loop leave.
package arrival

import (
	"math"
	"math/rand/v2"
	"time"

	"touchstone/harness/fixture"
)

// Schedule returns when the units of an open loop leave, counted from its
// start: n of them, or fewer where the workload's duration ends first. A unit
// is a request, or a session with all its turns. The same seed and salt give
// the same times. Nil: a closed loop.
//
// Arrivals are drawn at unit rate and then moved through the inverse of the
// rate's integral, which makes any rate that changes over time out of any
// arrivals (Çinlar 1975; Lewis and Shedler 1979). No gap is rescaled so that
// the last request meets a round number, as vLLM's client does: such a load
// has no longer the variance that it was asked for.
func Schedule(w fixture.Workload, salt int64, n int) []time.Duration {
	switch {
	case !w.Open():
		return nil
	case w.Arrival == fixture.Replay:
		return replayed(w, n)
	}
	gap := gaps(w, rand.New(rand.NewPCG(uint64(w.Seed), uint64(salt)^stream)))
	out := make([]time.Duration, 0, n)
	at := 0.0
	if w.Arrival != fixture.Constant {
		at = gap() // the clock starts at no arrival
	}
	for range n {
		t := warp(at, w.Rate, w.Ramp.Seconds())
		if w.Duration > 0 && t >= w.Duration.Seconds() {
			break
		}
		out = append(out, time.Duration(t*float64(time.Second)))
		at += gap()
	}
	return out
}

// stream keeps these random numbers apart from those of prompts and lengths:
// one more nonce must not move an arrival.
const stream = 0x5c

// gaps draws the gaps between arrivals, with a mean of 1.
func gaps(w fixture.Workload, rng *rand.Rand) func() float64 {
	switch w.Arrival {
	case fixture.Poisson:
		return rng.ExpFloat64
	case fixture.Gamma:
		return func() float64 { return gamma(rng, w.Burstiness) / w.Burstiness }
	}
	return func() float64 { return 1 }
}

// warp returns the time in seconds at which as many arrivals as s are due, at
// a rate that grows evenly from 0 over the ramp and stays: s = rate·t²/(2·ramp)
// within it, and rate·(t − ramp/2) after.
func warp(s, rate, ramp float64) float64 {
	if within := rate * ramp / 2; s < within {
		return math.Sqrt(2 * ramp * s / rate)
	}
	return s/rate + ramp/2
}

// gamma draws from a gamma distribution of a shape and scale 1, by Marsaglia
// and Tsang, "A simple method for generating gamma variables" (2000).
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 { // their section 6
		return gamma(rng, shape+1) * math.Pow(1-rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

func replayed(w fixture.Workload, n int) []time.Duration {
	var out []time.Duration
	for _, t := range w.Trace[:min(n, len(w.Trace))] {
		if w.Duration > 0 && t.At >= w.Duration {
			break
		}
		out = append(out, t.At)
	}
	return out
}
