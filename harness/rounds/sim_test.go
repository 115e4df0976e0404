package rounds

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// experiments of each simulation. The standard error of a share of 1 % is then
// 0.2 %, and that of one of 90 % is 0.7 %.
const experiments = 2000

// noise is the model of the simulations. Rounds run one after the other, in
// ABBA order. The logarithm of a value is that of its build, plus a wander that
// all metrics share, plus scatter of its own:
//
//   - SD is the standard deviation of a round: "1 % noise" is SD = 0.01.
//   - Shared is the part of that variance that the two rounds of a pair have in
//     common (the machine was slow just then), so that pairing removes it. The
//     ratio of a pair then scatters by SD·√(2·(1−Shared)): 1.41 % where nothing
//     is shared, 1 % for a half, 0.71 % for three quarters.
//   - AR is the correlation of a round's own scatter with that of the next
//     round, whichever build that runs on.
//   - Ramp is a steady drift from the first to the last round, Wave the height
//     of a slow swing, both unknown to the judge.
//   - Student makes the scatter heavy-tailed: Student's t with 3 degrees of
//     freedom, scaled to the same standard deviation; Skew makes it that of an
//     exponential distribution (rounds are only ever slowed down).
//
// Metrics move together, as they do in life: output throughput and TPOT share
// 90 % of their scatter, TTFT has its own.
type noise struct {
	SD, Shared, AR, Ramp, Wave float64
	Student, Skew              bool
}

// world makes the rounds of one experiment.
type world struct {
	noise
	effect float64 // true log-ratio of B's throughput over A's; latencies go the other way
	rng    *rand.Rand
	phase  float64
	last   [3]float64
	common float64
	n      int // rounds so far
	of     int // rounds of the longest run, over which Ramp is spread
}

func newWorld(n noise, change float64, rng *rand.Rand) *world {
	w := &world{noise: n, effect: math.Log1p(change), rng: rng, phase: rng.Float64() * 2 * math.Pi, of: 40}
	if rng.IntN(2) == 0 {
		w.Ramp = -w.Ramp
	}
	for i := range w.last {
		w.last[i] = w.scatter()
	}
	return w
}

// scatter draws from a distribution of mean 0 and standard deviation 1.
func (w *world) scatter() float64 {
	switch {
	case w.Student:
		// Student's t with 3 degrees of freedom has variance 3.
		chi := 0.0
		for range 3 {
			x := w.rng.NormFloat64()
			chi += x * x
		}
		return w.rng.NormFloat64() / math.Sqrt(chi/3) / math.Sqrt(3)
	case w.Skew:
		return 1 - w.rng.ExpFloat64()
	}
	return w.rng.NormFloat64()
}

// round runs the next one.
func (w *world) round(side Side, pair int) Round {
	at := float64(w.n) / float64(w.of)
	w.n++
	own := w.SD * math.Sqrt(1-w.Shared)
	for i := range w.last {
		w.last[i] = w.AR*w.last[i] + math.Sqrt(1-w.AR*w.AR)*w.scatter()
	}
	drift := w.SD*math.Sqrt(w.Shared)*w.common + w.Ramp*at + w.Wave*math.Sin(4*math.Pi*at+w.phase)
	speed, tpot, ttft := w.last[0], -math.Sqrt(0.9)*w.last[0]+math.Sqrt(0.1)*w.last[1], w.last[2]
	effect := 0.0
	if side == B {
		effect = w.effect
	}
	return Round{
		Side: side, Index: w.n, Pair: pair, Launch: 1, Requests: 300, Successes: 300,
		Values: map[string]float64{
			"output_tokens_per_s": 1000 * math.Exp(effect+drift+own*speed),
			"tpot_p50_ms":         20 * math.Exp(-effect-drift+own*tpot),
			"ttft_p50_ms":         150 * math.Exp(-effect-drift+own*ttft),
		},
	}
}

// pair runs the next pair: AB, then BA, and so on.
func (w *world) pair(i int) []Round {
	w.common = w.scatter()
	if i%2 == 1 {
		return []Round{w.round(A, i), w.round(B, i)}
	}
	return []Round{w.round(B, i), w.round(A, i)}
}

// run adds pairs until the judge has decided, or most are there.
func (w *world) run(o Options) Result {
	var rs []Round
	for i := 1; ; i++ {
		rs = append(rs, w.pair(i)...)
		if looks := o.looks(); i < looks[0] {
			continue
		}
		res := judge(rs, o)
		if !res.NeedMore {
			return res
		}
		for i < res.NextLook-1 {
			i++
			rs = append(rs, w.pair(i)...)
		}
	}
}

// metric returns one of a result's comparisons.
func (r Result) metric(name string) Comparison {
	for _, c := range r.Metrics {
		if c.Name == name {
			return c
		}
	}
	panic(fmt.Sprintf("no metric %s", name))
}

// rates count what comes out of experiments, as shares.
type rates struct {
	pass, fail, open float64 // status
	claim            float64 // a primary metric is said to differ, in any direction
	resolved         float64 // output throughput is said to differ
	early            float64 // the same, with ten pairs at most
	pairs            float64 // mean number of pairs until the end
}

func simulate(n noise, change float64, o Options, seed uint64) rates {
	var r rates
	rng := rand.New(rand.NewPCG(seed, 5))
	for range experiments {
		res := newWorld(n, change, rng).run(o)
		switch res.Status.String() {
		case "pass":
			r.pass++
		case "fail":
			r.fail++
		default:
			r.open++
		}
		for _, c := range res.Metrics {
			if c.Primary && differs(c) {
				r.claim++
				break
			}
		}
		if differs(res.metric("output_tokens_per_s")) {
			r.resolved++
			if res.Pairs <= 10 {
				r.early++
			}
		}
		r.pairs += float64(res.Pairs)
	}
	for _, x := range []*float64{&r.pass, &r.fail, &r.open, &r.claim, &r.resolved, &r.early, &r.pairs} {
		*x /= experiments
	}
	return r
}

func differs(c Comparison) bool {
	return c.Decision == Faster || c.Decision == Slower || c.Decision == Regressed
}
