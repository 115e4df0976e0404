package arrival

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"touchstone/harness/fixture"
)

func open(arrival string, rate float64) fixture.Workload {
	return fixture.Workload{Name: "w", Requests: 32, Seed: 7, Arrival: arrival, Rate: rate}
}

func TestScheduleConstant(t *testing.T) {
	got := Schedule(open(fixture.Constant, 4), 0, 5)
	want := []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond, time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if Schedule(open(fixture.Closed, 0), 0, 5) != nil {
		t.Error("a closed loop has a schedule")
	}
}

// At a rate that grows evenly to 10 a second over 4 s, 20 requests are due by
// then (10·4/2), the n-th at the root of 2·4·n/10; after that one every 0.1 s.
func TestScheduleRamp(t *testing.T) {
	w := open(fixture.Constant, 10)
	w.Ramp = 4 * time.Second
	got := Schedule(w, 0, 40)
	for n, at := range got {
		want := math.Sqrt(0.8 * float64(n))
		if n >= 20 {
			want = 4 + float64(n-20)/10
		}
		if math.Abs(at.Seconds()-want) > 1e-6 {
			t.Errorf("request %d leaves at %v, want %.4f s", n, at, want)
		}
	}
}

// gapsOf returns mean and coefficient of variation of the gaps.
func gapsOf(at []time.Duration) (mean, cv float64) {
	n := float64(len(at) - 1)
	mean = (at[len(at)-1] - at[0]).Seconds() / n
	ss := 0.0
	for i := 1; i < len(at); i++ {
		d := (at[i] - at[i-1]).Seconds() - mean
		ss += d * d
	}
	return mean, math.Sqrt(ss/n) / mean
}

// The gaps of a gamma distribution of shape k have the mean 1/rate and the
// coefficient of variation 1/√k: 1 for poisson, 2 at 0.25, 0.5 at 4. The
// bounds are five standard errors: of the mean cv/√n; of the cv, for shape k,
// below cv·√((1 + 1/k + 3/(2k))/n), which a larger sample only narrows.
func TestScheduleRandom(t *testing.T) {
	const n, rate = 20000, 50.0
	for _, c := range []struct {
		arrival string
		k       float64
	}{{fixture.Poisson, 1}, {fixture.Gamma, 1}, {fixture.Gamma, 0.25}, {fixture.Gamma, 4}} {
		t.Run(fmt.Sprintf("%s %v", c.arrival, c.k), func(t *testing.T) {
			w := open(c.arrival, rate)
			if c.arrival == fixture.Gamma {
				w.Burstiness = c.k
			}
			at := Schedule(w, 3, n)
			if len(at) != n || !slices.IsSorted(at) {
				t.Fatalf("%d times, sorted %v", len(at), slices.IsSorted(at))
			}
			mean, cv := gapsOf(at)
			want := 1 / math.Sqrt(c.k)
			if d := math.Abs(mean*rate - 1); d > 5*want/math.Sqrt(n) {
				t.Errorf("mean gap %.5f s, want %.5f", mean, 1/rate)
			}
			if d := math.Abs(cv/want - 1); d > 5*math.Sqrt((1+2.5/c.k)/n) {
				t.Errorf("coefficient of variation %.3f, want %.3f", cv, want)
			}
		})
	}
}

// In a Poisson process the number of arrivals in a fixed time varies, with a
// variance equal to its mean. A client that rescales its gaps has none.
func TestScheduleIsNotRescaled(t *testing.T) {
	w := open(fixture.Poisson, 10)
	w.Duration, w.Requests = 10*time.Second, 1000 // more than come in 10 s
	const seeds = 400
	sum, squares := 0.0, 0.0
	for salt := range int64(seeds) {
		n := float64(len(Schedule(w, salt, w.Count())))
		sum += n
		squares += n * n
	}
	mean := sum / seeds
	variance := squares/seeds - mean*mean
	// Mean and variance are 100; five standard errors: 5·10/√400, and of the
	// variance 5·100·√(2/400).
	if math.Abs(mean-100) > 2.5 || math.Abs(variance-100) > 35 {
		t.Errorf("%v arrivals on average with a variance of %v, want 100 and 100", mean, variance)
	}
}

func TestScheduleEndsWithTheDuration(t *testing.T) {
	w := open(fixture.Constant, 10)
	w.Duration = 2 * time.Second
	if got := Schedule(w, 0, 1000); len(got) != 20 || got[19] >= w.Duration {
		t.Errorf("%d requests, want 20 within 2 s", len(got))
	}
}

func TestScheduleSeeds(t *testing.T) {
	w := open(fixture.Poisson, 10)
	first := Schedule(w, 1, 50)
	if !slices.Equal(first, Schedule(w, 1, 50)) {
		t.Error("the same seed and salt give other times")
	}
	if slices.Equal(first, Schedule(w, 2, 50)) {
		t.Error("another salt gives the same times: all rounds would have the same bursts")
	}
	if w.Seed++; slices.Equal(first, Schedule(w, 1, 50)) {
		t.Error("another seed gives the same times")
	}
}
