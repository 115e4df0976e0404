package rounds

import (
	"fmt"
	"math"
	"strings"

	"touchstone/harness/stat"
)

// percent prints a share: 3 %, 0.25 %.
func percent(share float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", 100*share), "0"), ".") + " %"
}

func signed(share float64) string { return fmt.Sprintf("%+.2f %%", 100*share) }

// chance prints a confidence without claiming more than it is: 99.87 %.
func chance(confidence float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", math.Floor(confidence*1e4)/100), "0"), ".") + " %"
}

func (i Range) String() string {
	return fmt.Sprintf("%s … %s", signed(i.Lo), signed(i.Hi))
}

// because explains a decision in one sentence.
func because(c Comparison, s sides, o Options) string {
	if c.A == nil && c.B == nil {
		return c.Title + ": not measured on either side, so left out."
	}
	if c.Change == nil {
		return c.Title + ": not measured in every round, so not judged."
	}
	if c.Interval == nil {
		return fmt.Sprintf("%s: %s, but %s can't carry a verdict; %s more are needed at least.", c.Title, signed(*c.Change), have(s), fmt.Sprint(missing(s, o)))
	}
	head := fmt.Sprintf("%s: %s (%s at %s)", c.Title, signed(*c.Change), c.Interval, chance(c.Interval.Confidence))
	limit := fmt.Sprintf("the margin of %s", signed(change(c.bound())))
	switch c.Decision {
	case Regressed:
		return fmt.Sprintf("%s, all of it beyond %s: regressed.", head, limit)
	case Slower:
		return fmt.Sprintf("%s, worse than A for sure, and within %s.", head, limit)
	case Faster:
		return fmt.Sprintf("%s, better than A for sure.", head)
	case NoDifference:
		if c.Interval.Lo > 0 || c.Interval.Hi < 0 {
			return fmt.Sprintf("%s, within %s; that it differs from 0 doesn't outlast the correction for several metrics: no difference.", head, limit)
		}
		return fmt.Sprintf("%s, within %s, and 0 is in it: no difference.", head, limit)
	}
	return fmt.Sprintf("%s holds %s, so it may be worse by more or by less; about %d more %s would tell.", head, limit, c.MoreRounds, unit(s))
}

func unit(s sides) string {
	if s.paired {
		return "pairs"
	}
	return "rounds a side"
}

func have(s sides) string {
	switch {
	case s.paired && s.n() == 1:
		return "one pair of rounds"
	case s.paired:
		return fmt.Sprintf("%d pairs of rounds", s.n())
	case len(s.a) == 1 && len(s.b) == 1:
		return "a single run a side"
	}
	return fmt.Sprintf("%d and %d runs", len(s.a), len(s.b))
}

// missing is how many pairs, or rounds a side, it takes until anything can be
// judged.
func missing(s sides, o Options) int {
	if s.paired {
		return o.looks()[0] - s.n()
	}
	return MinUnpaired - s.n()
}

// passed sums up a pass.
func passed(cs []Comparison) string {
	var parts []string
	for _, c := range cs {
		if c.Primary && c.Decision.Pass() {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", c.Title, signed(*c.Change), c.Decision))
		}
	}
	return "Nothing is worse by its margin: " + strings.Join(parts, ", ") + "."
}

// warnings are what a reader must know beside the decisions.
func warnings(s sides, cs []Comparison, o Options) []string {
	var out []string
	if !s.paired && s.n() > 0 {
		out = append(out, "the rounds of the builds weren't alternated, so a drift of the machine looks like a difference")
	}
	for _, c := range cs {
		if c.Primary && c.A == nil && c.B == nil {
			out = append(out, c.Title+" was not measured on either side and decides nothing")
		}
		if c.Primary && c.Rank != nil && c.contradicts() {
			out = append(out, fmt.Sprintf("%s: the rank interval (%s) holds the margin, though the deciding one doesn't; look at single rounds", c.Title, c.Rank))
		}
		if c.Primary {
			out = append(out, drift(c, s)...)
		}
	}
	return append(out, o.AA.warnings(s, cs)...)
}

// contradicts says whether the rank interval leaves open what was decided.
func (c Comparison) contradicts() bool {
	at := change(c.bound())
	return c.Decision != Undecided && c.Rank.Lo < at && at < c.Rank.Hi
}

// driftLevel is the p-value from which on a drift is told.
const driftLevel = 0.001

// drift tells whether the machine drifted while the rounds ran, and whether
// one build drifted against the other.
func drift(c Comparison, s sides) []string {
	a, okA, _ := logs(s.a, c.Name)
	b, okB, _ := logs(s.b, c.Name)
	if !s.paired || !okA || !okB {
		return nil
	}
	var out []string
	if t := stat.FindTrend(a); t != nil && t.P < driftLevel {
		out = append(out, fmt.Sprintf("%s of a drifted by %s over the comparison", c.Title, signed(change(t.Slope*float64(len(a)-1)))))
	}
	if t := stat.FindTrend(ratios(a, b)); t != nil && t.P < driftLevel {
		out = append(out, fmt.Sprintf("%s: the difference itself drifted by %s from the first pair to the last; a build that slows down with time does this", c.Title, signed(change(t.Slope*float64(len(a)-1)))))
	}
	return out
}
