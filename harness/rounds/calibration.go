package rounds

import (
	"fmt"
	"math"
	"time"

	"touchstone/harness/stat"
)

// Calibration is what an A/A, the same build on both sides, says about a
// machine and a workload: how far two equal builds lie apart.
type Calibration struct {
	Machine  string    `json:"machine"`
	Workload string    `json:"workload"`
	Build    string    `json:"build"`
	Time     time.Time `json:"time"`

	Pairs    int  `json:"pairs"`
	Launches int  `json:"launches"` // pairs of starts of the build
	Passed   bool `json:"passed"`   // equal builds were not told apart
	// WithinLaunch: each side ran on one start of the build only, so what
	// differs from start to start wasn't seen.
	WithinLaunch bool             `json:"within_launch"`
	Because      string           `json:"because"`
	Metrics      map[string]Noise `json:"metrics"` // by name
}

// Noise is the spread of one metric between equal builds.
type Noise struct {
	RoundSD  float64  `json:"round_sd"` // of the rounds of one side, as a share
	PairSD   float64  `json:"pair_sd"`  // of the ratio within pairs, as a share
	Sharing  float64  `json:"sharing"`  // variance between pairs over that within them: 1 where pairs share nothing (see stat.Sharing)
	Change   float64  `json:"change"`   // of one side over the other; nothing but noise
	Interval *Range   `json:"interval"`
	LaunchSD *float64 `json:"launch_sd"` // of the ratio from start to start, beyond the noise of its rounds; nil: too few starts
}

// minLaunches is how many starts of each side it takes to tell their spread.
const minLaunches = 3

// Calibrate measures the noise of an A/A: rounds of one build on both sides,
// in pairs. Machine, Build and Time are the caller's.
func Calibrate(rs []Round, o Options) (*Calibration, error) {
	o.AA = nil
	res := Judge(rs, o)
	if !res.Paired || res.Pairs < o.looks()[0] {
		return nil, fmt.Errorf("an A/A takes %d pairs of rounds at least, here are %d", o.looks()[0], res.Pairs)
	}
	if len(res.Void) > 0 {
		return nil, fmt.Errorf("the A/A is void: %s", res.Void[0].Text)
	}
	s := split(rs)
	c := &Calibration{Workload: res.Workload, Pairs: res.Pairs, Passed: true, Metrics: map[string]Noise{}, Because: "no difference between equal builds"}
	c.Launches = len(byLaunch(s, make([]float64, res.Pairs)))
	c.WithinLaunch = c.Launches == 1
	for _, m := range res.Metrics {
		if m.Interval == nil {
			continue
		}
		a, _, _ := logs(s.a, m.Name)
		b, _, _ := logs(s.b, m.Name)
		c.Metrics[m.Name] = Noise{
			RoundSD: m.RoundSD, PairSD: *m.PairSD, Sharing: stat.Sharing(a, b), Change: *m.Change, Interval: m.Interval,
			LaunchSD: launchSD(byLaunch(s, ratios(a, b))),
		}
		if m.Primary && m.Decision != NoDifference && m.Decision != Undecided {
			c.Passed, c.Because = false, m.Because
		}
	}
	return c, nil
}

// byLaunch groups the ratios of pairs by the starts that they ran on.
func byLaunch(s sides, ratios []float64) [][]float64 {
	at := map[[2]int]int{}
	var out [][]float64
	for i, x := range ratios {
		key := [2]int{s.a[i].Launch, s.b[i].Launch}
		g, ok := at[key]
		if !ok {
			g = len(out)
			at[key] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], x)
	}
	return out
}

// launchSD is the spread of the means of groups, less what the noise within
// them explains (the variance component of a one-way layout). Nil for fewer
// than minLaunches groups.
func launchSD(groups [][]float64) *float64 {
	if len(groups) < minLaunches {
		return nil
	}
	var means []float64
	within, df, inverse := 0.0, 0, 0.0
	for _, g := range groups {
		means = append(means, stat.Summarize(g).Mean)
		within += variance(g) * float64(len(g)-1)
		df += len(g) - 1
		inverse += 1 / float64(len(g))
	}
	v := variance(means)
	if df > 0 {
		v -= within / float64(df) * inverse / float64(len(groups))
	}
	sd := math.Sqrt(max(0, v))
	return &sd
}

// launchFactor times their spread is how far equal builds lie apart by the
// luck of their starts, in about one comparison of twenty.
const launchFactor = 2

// threshold is the smallest margin that the A/A supports: what starts of equal
// builds differ by. It is 0 where that isn't known, so it only ever raises a
// margin; noise within one launch never lowers one.
func (c *Calibration) threshold(metric string, s sides) float64 {
	if !c.fits(s) {
		return 0
	}
	n := c.Metrics[metric]
	if n.LaunchSD == nil {
		return 0
	}
	launches := len(byLaunch(s, make([]float64, s.pairs())))
	return launchFactor * *n.LaunchSD / math.Sqrt(float64(max(1, launches)))
}

func (c *Calibration) fits(s sides) bool {
	return c != nil && s.paired && c.Workload == s.workload
}

// sharedFrom is the sharing of an A/A from which on pairs are judged by their
// differences. Where pairs share nothing, ten of them reach it in one case of
// six, which costs a little power; where they share three quarters, they miss
// it in one of 25. The error rate holds either way.
const sharedFrom = 2

// shared says whether pairs of a metric share noise: so they do unless the A/A
// says otherwise. It has to be known beforehand; see stat.Pooled.
func (c *Calibration) shared(metric string, s sides) bool {
	if !c.fits(s) {
		return true
	}
	n, ok := c.Metrics[metric]
	return !ok || n.Sharing >= sharedFrom
}

// mde is the smallest change of a metric that a comparison up to the cap will
// tell from none, if the noise is that of the A/A.
func (c *Calibration) mde(metric string, o Options) (float64, bool) {
	if c == nil {
		return 0, false
	}
	n, ok := c.Metrics[metric]
	if !ok {
		return 0, false
	}
	looks := o.looks()
	pairs := float64(looks[len(looks)-1])
	levels := stat.Spend(looks, o.alpha(), spending)
	alpha := levels[len(levels)-1] / float64(len(o.primary()))
	se, df := n.PairSD/math.Sqrt(pairs), pairs-1
	if n.Sharing < sharedFrom {
		se, df = n.RoundSD*math.Sqrt(2/pairs), 2*(pairs-1)
	}
	return change(stat.MDE(se, df, alpha)), true
}

// MDE returns, before a run, the smallest change of each primary metric that
// it will tell from none four times in five, by name.
func (c *Calibration) MDE(o Options) map[string]float64 {
	out := map[string]float64{}
	for _, name := range o.primary() {
		if m, ok := c.mde(name, o); ok {
			out[name] = m
		}
	}
	return out
}

// stale is the ratio of spreads from which on the A/A no longer describes the
// machine: it is beyond what F leaves to chance for ten pairs each, at 1 %
// (√5.35, two-sided √6.54).
const stale = 2.6

// warnings are what a reader of a comparison must know about its A/A.
func (c *Calibration) warnings(s sides, cs []Comparison) []string {
	if c == nil || !s.paired {
		return nil
	}
	if c.Workload != s.workload {
		return []string{fmt.Sprintf("the A/A is of the workload %q, so it says nothing here", c.Workload)}
	}
	var out []string
	if c.WithinLaunch {
		out = append(out, "the A/A ran on one start of the build (within-launch): what differs from start to start isn't in it")
	}
	for _, m := range cs {
		n, ok := c.Metrics[m.Name]
		if !m.Primary || !ok || m.PairSD == nil || n.PairSD == 0 {
			continue
		}
		if r := *m.PairSD / n.PairSD; r > stale {
			out = append(out, fmt.Sprintf("%s scatters %.1f times as much as in the A/A; the machine isn't as quiet as it was", m.Title, r))
		}
	}
	return out
}
