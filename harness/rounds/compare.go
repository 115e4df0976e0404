package rounds

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"touchstone/harness/stat"
)

// asideConfidence is that of the intervals that decide nothing.
const asideConfidence = 0.95

// sides are the rounds that are compared. Where they are paired, a[i] and b[i]
// belong together, in the order of time.
type sides struct {
	workload string
	paired   bool
	a, b     []Round
	void     []Void
	warnings []string
}

func (s sides) pairs() int {
	if !s.paired {
		return 0
	}
	return len(s.a)
}

// n is the number of pairs, or of rounds of the smaller side.
func (s sides) n() int { return min(len(s.a), len(s.b)) }

// split sorts rounds by side, and by pair where every round has one.
func split(rs []Round) sides {
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(x, y Round) int { return x.Index - y.Index })
	s := sides{paired: len(rs) > 0}
	for i, r := range rs {
		if i == 0 {
			s.workload = r.Workload
		}
		if r.Pair <= 0 {
			s.paired = false
		}
	}
	if s.paired {
		s.pair(rs)
		return s
	}
	for _, r := range rs {
		if r.Side == A {
			s.a = append(s.a, r)
		} else {
			s.b = append(s.b, r)
		}
	}
	return s
}

// pair lays partners beside each other. A partner that is still missing, as in
// a run that was interrupted, leaves its round out.
func (s *sides) pair(rs []Round) {
	type pair struct{ a, b []Round }
	byPair, order := map[int]*pair{}, []int{}
	for _, r := range rs {
		p := byPair[r.Pair]
		if p == nil {
			p = &pair{}
			byPair[r.Pair] = p
			order = append(order, r.Pair)
		}
		if r.Side == A {
			p.a = append(p.a, r)
		} else {
			p.b = append(p.b, r)
		}
	}
	aFirst := 0
	for _, at := range order {
		p := byPair[at]
		switch {
		case len(p.a) > 1 || len(p.b) > 1:
			s.void = append(s.void, Void{Reason: VoidPair,
				Text: fmt.Sprintf("pair %d holds %d rounds of a and %d of b, want one of each", at, len(p.a), len(p.b))})
		case len(p.a) == 1 && len(p.b) == 1:
			if p.a[0].Index < p.b[0].Index {
				aFirst++
			}
			s.a, s.b = append(s.a, p.a[0]), append(s.b, p.b[0])
		default:
			s.warnings = append(s.warnings, fmt.Sprintf("pair %d has one round only; it was left out", at))
		}
	}
	if n := len(s.a); n > 1 && (aFirst == 0 || aFirst == n) {
		s.warnings = append(s.warnings, "one build ran first in every pair, so a steady drift of the machine looks like a difference; alternate the order (A B B A)")
	}
}

// logs returns the logarithms of a metric; ok is false where a round lacks it
// or it isn't positive. some says whether any round has it.
func logs(rs []Round, metric string) (xs []float64, ok, some bool) {
	ok = true
	for _, r := range rs {
		v, has := r.Values[metric]
		if !has {
			ok = false
			continue
		}
		some = true
		if !(v > 0) || math.IsInf(v, 0) {
			ok = false
			continue
		}
		xs = append(xs, math.Log(v))
	}
	return xs, ok, some
}

// compare fills in what the numbers of each metric say, before any level is
// known.
func compare(s sides, o Options) []Comparison {
	var out []Comparison
	primary := o.primary()
	for _, m := range Metrics() {
		c := Comparison{Metric: m, Primary: slices.Contains(primary, m.Name), Margin: o.margin(m.Name), N: s.n(), Decision: Undecided, PZero: 1, PMargin: 1}
		a, okA, someA := logs(s.a, m.Name)
		b, okB, someB := logs(s.b, m.Name)
		if !someA && !someB {
			if c.Primary {
				out = append(out, c)
			}
			continue
		}
		c.A, c.B = middle(a), middle(b)
		if okA && okB && len(a) > 0 && len(b) > 0 {
			c.measure(a, b, s, o)
		}
		out = append(out, c)
	}
	return out
}

// middle is the Hodges–Lehmann centre of logarithms as a value.
func middle(logs []float64) *float64 {
	if len(logs) == 0 {
		return nil
	}
	v := math.Exp(stat.HodgesLehmann(logs))
	return &v
}

// measure sets change, spread and p-values from the logarithms of both sides.
func (c *Comparison) measure(a, b []float64, s sides, o Options) {
	var center float64
	if s.paired {
		center = stat.HodgesLehmann(ratios(a, b))
	} else {
		center = stat.Shift(a, b)
	}
	shift := change(center)
	c.Change = &shift
	if s.n() < 2 {
		return
	}
	c.RoundSD = math.Sqrt((variance(a) + variance(b)) / 2)
	if s.paired {
		sd := math.Sqrt(variance(ratios(a, b)))
		c.PairSD = &sd
	}
	if t := o.AA.threshold(c.Name, s); t > c.Margin {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the margin is %s instead of %s, because launches of one build differ by that much (A/A)", percent(t), percent(c.Margin)))
		c.Margin = t
	}
	c.Shared = s.paired && o.AA.shared(c.Name, s)
	e := c.estimate(a, b, s)
	c.PZero, c.PMargin = e.P(0), e.P(c.bound())
	if s.paired && stat.Neighbours(ratios(a, b)) > 2/math.Sqrt(float64(s.n())) && s.n() >= 8 {
		c.Warnings = append(c.Warnings, "the ratio of a pair resembles that of the next one, so the interval is narrower than it should be")
	}
}

// estimate returns the difference of the logarithms with its error.
func (c Comparison) estimate(a, b []float64, s sides) stat.Estimate {
	switch {
	case !s.paired:
		return stat.Unpaired(a, b)
	case c.Shared:
		return stat.Paired(a, b)
	}
	return stat.Pooled(a, b)
}

// bound is the logarithm of B ÷ A at the margin, on the bad side.
func (c Comparison) bound() float64 {
	if c.Higher {
		return math.Log1p(-c.Margin)
	}
	return math.Log1p(c.Margin)
}

// worse says whether a logarithm of B ÷ A is on the bad side of another.
func (c Comparison) worse(x, than float64) bool {
	if c.Higher {
		return x < than
	}
	return x > than
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = b[i] - a[i]
	}
	return out
}

func variance(xs []float64) float64 {
	s := stat.Summarize(xs)
	if s == nil || s.SD == nil {
		return 0
	}
	return *s.SD * *s.SD
}

// enough says whether so many rounds may be judged at all.
func enough(s sides, o Options) bool {
	if s.paired {
		return s.n() >= o.looks()[0]
	}
	return s.n() >= MinUnpaired
}

// level is the error rate of the look that n pairs are: the first one that
// isn't before them. An interrupted run so uses up the look that never came.
// Sides that weren't alternated have one look.
func level(s sides, o Options) float64 {
	if !s.paired {
		return o.alpha()
	}
	looks := o.looks()
	levels := stat.Spend(looks, o.alpha(), spending)
	for i, n := range looks {
		if s.n() <= n {
			return levels[i]
		}
	}
	return levels[len(levels)-1]
}

// holm decides the metrics: primary ones share the error rate by Holm, in two
// families (is B worse by the margin; is B different at all), others are held
// to it alone.
func holm(cs []Comparison, s sides, o Options) {
	if !enough(s, o) {
		return
	}
	alpha := level(s, o)
	var at []int
	var margin, zero []float64
	for i, c := range cs {
		if c.Change == nil {
			continue
		}
		if !c.Primary {
			cs[i].decide(s, alpha, alpha)
			continue
		}
		at, margin, zero = append(at, i), append(margin, c.PMargin), append(zero, c.PZero)
	}
	if len(at) == 0 {
		return
	}
	margins, zeros := stat.Holm(margin, alpha), stat.Holm(zero, alpha)
	for j, i := range at {
		cs[i].decide(s, margins[j], zeros[j])
	}
}

// decide sets interval and decision from the levels that are left for the two
// questions.
func (c *Comparison) decide(s sides, margin, zero float64) {
	a, _, _ := logs(s.a, c.Name)
	b, _, _ := logs(s.b, c.Name)
	e := c.estimate(a, b, s)
	c.Interval = rangeOf(e.Interval(1 - margin))
	m := change(stat.MDE(e.SE, e.DF, margin))
	c.MDEAfter = &m
	differs := c.PZero <= zero
	switch {
	case c.PMargin > margin:
		c.MoreRounds = moreRounds(e, c.bound(), s, margin)
	case c.worse(e.Center, c.bound()):
		c.Decision = Regressed
	case !differs:
		c.Decision = NoDifference
	case c.worse(e.Center, 0):
		c.Decision = Slower
	default:
		c.Decision = Faster
	}
}

// crossCheck adds the intervals that assume less, for the reader. A rank
// interval is at the confidence of the deciding one where so few rounds reach
// it, and the bootstrap can't follow it there.
func (c *Comparison) crossCheck(s sides) {
	if c.Interval == nil {
		return
	}
	a, _, _ := logs(s.a, c.Name)
	b, _, _ := logs(s.b, c.Name)
	rank := func(confidence float64) *stat.Interval { return stat.RankSum(a, b, confidence) }
	if s.paired {
		rank = func(confidence float64) *stat.Interval { return stat.SignedRank(ratios(a, b), confidence) }
		if i := stat.BootstrapT(ratios(a, b), asideConfidence); i != nil {
			c.Bootstrap = rangeOf(*i)
		}
	}
	i := rank(c.Interval.Confidence)
	if i == nil {
		i = rank(asideConfidence)
	}
	if i != nil {
		c.Rank = rangeOf(*i)
	}
}

func rangeOf(i stat.Interval) *Range {
	return &Range{Lo: change(i.Lo), Hi: change(i.Hi), Confidence: i.Confidence}
}

// mostRounds is where an estimate of what is still needed gives up.
const mostRounds = 1000

// moreRounds estimates how many more pairs, or rounds a side, it takes until
// the interval leaves the margin out four times in five, if the spread
// and the distance stay what they are.
func moreRounds(e stat.Estimate, bound float64, s sides, alpha float64) int {
	n := s.n()
	distance := math.Abs(e.Center - bound)
	return 1 + sort.Search(mostRounds-1, func(i int) bool {
		grown := float64(n+1+i) / float64(n)
		return stat.MDE(e.SE/math.Sqrt(grown), math.Round(e.DF*grown), alpha) <= distance
	})
}

// finish says why, and adds what only a reader needs.
func finish(c *Comparison, s sides, o Options, void bool) {
	if m, ok := o.AA.mde(c.Name, o); ok {
		c.MDEBefore = &m
	}
	if void {
		c.Decision, c.MoreRounds = Undecided, 0
		c.Because = c.Title + ": void, so its numbers decide nothing."
		return
	}
	if c.Change != nil && c.Interval == nil {
		c.MoreRounds = missing(s, o)
	}
	c.Because = because(*c, s, o)
}
