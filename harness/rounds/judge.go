package rounds

import (
	"fmt"
	"math"
	"slices"

	"touchstone/harness/verdict"
)

// The defaults of Options. Rounds that resemble the ones before and after them
// double the error rate of ABBA pairs: with 99 % equal builds were told apart in
// 0.8 % of 20,000 experiments, too close to the 1 % that is promised. With
// 99.5 % it is 0.4 % at worst.
const (
	DefaultMargin     = 0.03
	DefaultConfidence = 0.995
)

// DefaultLooks are the numbers of pairs after which a verdict may fall. Ten is
// what it takes to resolve half of the default margin at a noise of 1 %. A look
// between them would find less, since each one takes its share of the error.
func DefaultLooks() []int { return Looks(10, 20) }

// Looks returns numbers of pairs at which to look, from least to most, each
// twice the one before. Below six pairs no rank test reaches 95 %, and a verdict
// takes a difference of several times the noise.
func Looks(least, most int) []int {
	var out []int
	for n := least; n > 0 && n < most; n *= 2 {
		out = append(out, n)
	}
	return append(out, most)
}

// spending is the exponent of the spending function of the looks (see
// stat.Spend). Of two looks, the first then has 78 % of the error rate: most
// comparisons end there. It was chosen by simulation: 0.5 and 1 resolved a true
// −1.5 % less often with ten pairs, 0.25 let a true −1 % pass less often.
const spending = 0.35

// MinUnpaired is how many rounds a side takes at least where rounds were not
// alternated: two don't show an outlier.
const MinUnpaired = 3

// Options say how to judge. The zero value holds the defaults.
type Options struct {
	Margin     map[string]float64 // how much worse a metric may get, as a share of A, by name; "" for all others; DefaultMargin where neither is set
	Primary    []string           // the metrics that decide, by name; nil: Primary()
	Looks      []int              // numbers of pairs at which a verdict may fall, ascending; nil: DefaultLooks()
	MaxPairs   int                // the cap; 0: the last look
	Confidence float64            // of all statements about the primary metrics together, over all looks; 0: DefaultConfidence
	Workloads  int                // that are judged together: the error is divided by their number; 0: one
	AA         *Calibration       // two equal builds on this machine; nil: never measured
}

// looks returns the looks up to the cap, which is the last one.
func (o Options) looks() []int {
	looks := slices.Clone(o.Looks)
	if len(looks) == 0 {
		looks = DefaultLooks()
	}
	if o.MaxPairs > 0 {
		looks = slices.DeleteFunc(looks, func(n int) bool { return n >= o.MaxPairs })
		looks = append(looks, o.MaxPairs)
	}
	return looks
}

// alpha is the chance of any false statement about this workload.
func (o Options) alpha() float64 {
	confidence := o.Confidence
	if confidence == 0 {
		confidence = DefaultConfidence
	}
	return (1 - confidence) / float64(max(1, o.Workloads))
}

func (o Options) primary() []string {
	if o.Primary == nil {
		return Primary()
	}
	return o.Primary
}

func (o Options) margin(metric string) float64 {
	if m, ok := o.Margin[metric]; ok {
		return m
	}
	if m, ok := o.Margin[""]; ok {
		return m
	}
	return DefaultMargin
}

// Check says what is wrong with the options, and how to mend it.
func (o Options) Check() error {
	for name, m := range o.Margin {
		if _, ok := Find(name); !ok && name != "" {
			return fmt.Errorf("margin of %q: no such metric, want one of %v", name, names())
		}
		if !(m > 0 && m < 1) {
			return fmt.Errorf("margin of %q is %v, want a share between 0 and 1: 0.03 for 3 %%", name, m)
		}
	}
	for _, name := range o.Primary {
		if _, ok := Find(name); !ok {
			return fmt.Errorf("primary metric %q: no such metric, want one of %v", name, names())
		}
	}
	if o.Primary != nil && len(o.Primary) == 0 {
		return fmt.Errorf("no primary metric: at least one has to decide")
	}
	for i, n := range o.Looks {
		if n < 2 || i > 0 && n <= o.Looks[i-1] {
			return fmt.Errorf("looks %v: want ascending numbers of pairs from 2 on", o.Looks)
		}
	}
	if o.MaxPairs != 0 && o.MaxPairs < 2 {
		return fmt.Errorf("at most %d pairs: want 2 or more", o.MaxPairs)
	}
	if c := o.Confidence; c != 0 && !(c > 0.5 && c < 1) {
		return fmt.Errorf("confidence %v: want a share between 0.5 and 1: 0.995 for 99.5 %%", c)
	}
	return nil
}

// Decision is what is said about one metric.
type Decision string

// The decisions. The first three are a pass.
const (
	NoDifference Decision = "no difference"            // B isn't worse by the margin, and nothing tells it from A
	Faster       Decision = "faster"                   // B is better than A
	Slower       Decision = "slower within the margin" // B is worse than A, by less than the margin
	Regressed    Decision = "regressed"                // B is worse by more than the margin
	Undecided    Decision = "inconclusive"             // the interval holds the margin
)

// Pass says whether the decision lets a build pass.
func (d Decision) Pass() bool { return d == NoDifference || d == Faster || d == Slower }

// Range is an interval of a change: B ÷ A − 1.
type Range struct {
	Lo         float64 `json:"lo"`
	Hi         float64 `json:"hi"`
	Confidence float64 `json:"confidence"`
}

// Comparison is the answer for one metric. Changes are shares of A, so −0.05 is
// 5 % less.
type Comparison struct {
	Metric
	Primary bool     `json:"primary"`
	A       *float64 `json:"a"` // the middle of its rounds; nil: not measured
	B       *float64 `json:"b"`
	N       int      `json:"n"` // pairs, or rounds of the smaller side
	Change  *float64 `json:"change"`
	Margin  float64  `json:"margin"` // in force: the one asked for, or more where A/A says so

	Interval  *Range `json:"interval"`  // decides; its confidence is what is left after looks and Holm
	Rank      *Range `json:"rank"`      // exact, at the same confidence where so many rounds reach it, else at 95 %
	Bootstrap *Range `json:"bootstrap"` // paired only, at 95 %

	PZero      float64  `json:"p_zero"`   // that B equals A
	PMargin    float64  `json:"p_margin"` // that B is worse by exactly the margin
	Decision   Decision `json:"decision"`
	Because    string   `json:"because"`     // one sentence
	Shared     bool     `json:"shared"`      // differences within pairs were judged; false: the A/A says that pairs share nothing, or there are none
	RoundSD    float64  `json:"round_sd"`    // spread of the rounds of one side, as a share
	PairSD     *float64 `json:"pair_sd"`     // spread of the ratio within pairs; nil: not paired
	MDEBefore  *float64 `json:"mde_before"`  // the smallest change that the A/A promised to tell from none; nil: no A/A
	MDEAfter   *float64 `json:"mde_after"`   // the same from the spread of these rounds
	MoreRounds int      `json:"more_rounds"` // pairs, or rounds a side, until it is decided, as far as can be told; 0: decided, or nothing to estimate from
	Warnings   []string `json:"warnings,omitempty"`
}

// Result is the answer for one workload.
type Result struct {
	Workload string         `json:"workload"`
	Status   verdict.Status `json:"status"` // its ExitCode is that of the program
	Because  string         `json:"because"`
	Void     []Void         `json:"void"`

	Paired     bool         `json:"paired"`
	Pairs      int          `json:"pairs"`    // complete ones
	RoundsA    int          `json:"rounds_a"` // that were used
	RoundsB    int          `json:"rounds_b"`
	Looks      []int        `json:"looks,omitempty"`
	Confidence float64      `json:"confidence"`
	Method     string       `json:"method"`
	Metrics    []Comparison `json:"metrics"`
	Warnings   []string     `json:"warnings"`
	AA         *Calibration `json:"aa"`

	NeedMore  bool `json:"need_more"`  // another pair would help, and the cap isn't reached
	NextLook  int  `json:"next_look"`  // pairs in all at which to judge again; 0: no more
	MorePairs int  `json:"more_pairs"` // estimate, from here on; rounds a side where not paired
}

// Judge compares the two sides of one workload. Where each round has a
// partner, log-ratios within pairs are judged, otherwise the sides as a whole.
// Rounds come in any order. Options must be valid (see Check).
func Judge(rs []Round, o Options) Result {
	res := judge(rs, o)
	s := split(rs)
	if len(res.Void) == 0 {
		for i := range res.Metrics {
			res.Metrics[i].crossCheck(s)
		}
	}
	res.Warnings = append(s.warnings, warnings(s, res.Metrics, o)...)
	return res
}

// judge is Judge without what decides nothing and takes most of the time:
// cross-checks and warnings.
func judge(rs []Round, o Options) Result {
	s := split(rs)
	res := Result{
		Workload: s.workload, Paired: s.paired, Pairs: s.pairs(), RoundsA: len(s.a), RoundsB: len(s.b),
		Confidence: 1 - o.alpha(), Method: method(s.paired), AA: o.AA,
	}
	if s.paired {
		res.Looks = o.looks()
	}
	res.Void = append(s.void, voids(s, rs, o)...)
	cs := compare(s, o)
	holm(cs, s, o)
	for i := range cs {
		finish(&cs[i], s, o, len(res.Void) > 0)
	}
	res.Metrics = cs
	res.conclude(o)
	return res
}

func method(paired bool) string {
	if paired {
		return "mean log-ratio of pairs with Student's t; looks by Kim and DeMets' spending with Bonferroni; Holm over the primary metrics"
	}
	return "difference of mean logarithms by Welch, one look; Holm over the primary metrics"
}

// conclude sets status, reason, and what to do next.
func (r *Result) conclude(o Options) {
	if len(r.Void) > 0 {
		r.Status, r.Because = voidStatus(r.Void)
		return
	}
	judged, undecided := 0, []Comparison{}
	for _, c := range r.Metrics {
		if !c.Primary || c.A == nil && c.B == nil {
			continue
		}
		judged++
		switch {
		case c.Decision == Regressed:
			if r.Status != verdict.Fail {
				r.Status, r.Because = verdict.Fail, c.Because
			}
		case c.Decision == Undecided:
			undecided = append(undecided, c)
		}
	}
	if r.Status == verdict.Fail {
		return
	}
	switch {
	case judged == 0:
		r.Because = "No primary metric was measured on either side: nothing can be judged."
	case len(undecided) > 0:
		r.Because = undecided[0].Because
		for _, c := range undecided {
			r.MorePairs = max(r.MorePairs, c.MoreRounds)
		}
		r.more(o)
	default:
		r.Status, r.Because = verdict.Pass, passed(r.Metrics)
	}
}

// more says whether another pair may be run, and when to look again.
func (r *Result) more(o Options) {
	if !r.Paired {
		return
	}
	for _, n := range o.looks() {
		if n > r.Pairs {
			r.NeedMore, r.NextLook = true, n
			r.MorePairs = max(r.MorePairs, n-r.Pairs)
			return
		}
	}
}

// change turns a logarithm of B ÷ A into a change.
func change(log float64) float64 { return math.Expm1(log) }
