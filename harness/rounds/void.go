package rounds

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"touchstone/harness/stat"
	"touchstone/harness/verdict"
)

// Void is a reason why the numbers of a comparison decide nothing.
type Void struct {
	Reason    string `json:"reason"`
	Text      string `json:"text"`
	Rounds    []int  `json:"rounds,omitempty"` // by Index
	Side      Side   `json:"side,omitempty"`   // whose fault it is; empty: both, or none
	Incorrect bool   `json:"incorrect"`        // this build is wrong, not just unmeasured
}

// The reasons.
const (
	VoidIncorrect = "incorrect"       // the outputs of its own traffic failed a check
	VoidRound     = "void-round"      // a round says so itself
	VoidFailed    = "failed-requests" // requests failed, or none succeeded
	VoidDuplicate = "duplicate"       // one measurement stands in for two rounds
	VoidLengths   = "lengths-moved"   // the builds did different work
	VoidCache     = "cache-differs"   // one build found more of its prompts in the cache
	VoidWorkload  = "workloads-mixed" // rounds of several workloads
	VoidPair      = "pair-broken"     // a pair isn't one round of each build
	VoidOneSided  = "one-sided"       // a metric that only one build has
	VoidValue     = "not-a-number"    // a value that no measurement has
	VoidAA        = "aa-failed"       // this machine tells equal builds apart
	VoidEmpty     = "no-rounds"       // a side without any
)

// voids returns everything that makes the comparison void.
func voids(s sides, rs []Round, o Options) []Void {
	var out []Void
	for _, side := range []Side{A, B} {
		out = append(out, sideVoids(side, rs)...)
	}
	out = append(out, duplicates(rs)...)
	out = append(out, moved(s, o)...)
	out = append(out, values(s, rs, o)...)
	for _, r := range rs {
		if r.Workload != s.workload {
			out = append(out, Void{Reason: VoidWorkload, Text: fmt.Sprintf("rounds of the workloads %q and %q are mixed; judge each alone", s.workload, r.Workload)})
			break
		}
	}
	if o.AA != nil && o.AA.Workload == s.workload && !o.AA.Passed {
		out = append(out, Void{Reason: VoidAA, Text: "the A/A on this machine told two equal builds apart (" + o.AA.Because + "), so a difference would mean nothing; find what disturbs it and run the A/A again"})
	}
	return out
}

// sideVoids are what the rounds of a side say about themselves.
func sideVoids(side Side, rs []Round) []Void {
	var out []Void
	incorrect, void := Void{Reason: VoidIncorrect, Side: side, Incorrect: true}, Void{Reason: VoidRound, Side: side}
	failed := Void{Reason: VoidFailed, Side: side}
	checks, reasons := map[string]bool{}, map[string]bool{}
	n, requests, successes := 0, 0, 0
	for _, r := range rs {
		if r.Side != side {
			continue
		}
		n++
		if len(r.Incorrect) > 0 {
			incorrect.Rounds = append(incorrect.Rounds, r.Index)
			for _, c := range r.Incorrect {
				checks[c] = true
			}
		}
		if len(r.Void) > 0 {
			void.Rounds = append(void.Rounds, r.Index)
			for _, v := range r.Void {
				reasons[v] = true
			}
		}
		if r.Successes < r.Requests || r.Requests == 0 {
			failed.Rounds = append(failed.Rounds, r.Index)
			requests, successes = requests+r.Requests, successes+r.Successes
		}
	}
	if n == 0 {
		return []Void{{Reason: VoidEmpty, Side: side, Text: fmt.Sprintf("build %s has no rounds", side)}}
	}
	if len(incorrect.Rounds) > 0 {
		incorrect.Text = fmt.Sprintf("build %s answered wrongly while it was measured (%s) in %s", side, list(checks), which(incorrect.Rounds))
		out = append(out, incorrect)
	}
	if len(void.Rounds) > 0 {
		void.Text = fmt.Sprintf("build %s, %s: %s", side, which(void.Rounds), list(reasons))
		out = append(out, void)
	}
	if len(failed.Rounds) > 0 {
		failed.Text = fmt.Sprintf("build %s, %s: %d of %d requests succeeded; failed requests make a server look fast", side, which(failed.Rounds), successes, requests)
		out = append(out, failed)
	}
	return out
}

// voidStatus is what void rounds leave to say. Wrong outputs of B are a
// regression, unless A's are wrong too: then there is no baseline to hold B to.
func voidStatus(voids []Void) (verdict.Status, string) {
	var a, b *Void
	for i, v := range voids {
		switch {
		case v.Incorrect && v.Side == A:
			a = &voids[i]
		case v.Incorrect && v.Side == B:
			b = &voids[i]
		}
	}
	switch {
	case a != nil:
		return verdict.Inconclusive, "The baseline is broken: " + a.Text + ". Its speed is nothing to compare with."
	case b != nil:
		return verdict.Fail, "Failed on correctness: " + b.Text + ". Its speed is void."
	}
	return verdict.Inconclusive, "Void: " + voids[0].Text + "."
}

// duplicates finds measurements that stand in for several rounds: by digest,
// and by numbers that are all the same, which two runs never measure.
func duplicates(rs []Round) []Void {
	var out []Void
	byDigest := map[string][]int{}
	done := map[int]bool{}
	for _, r := range rs {
		if r.Digest != "" {
			byDigest[r.Digest] = append(byDigest[r.Digest], r.Index)
		}
	}
	for _, d := range slices.Sorted(maps.Keys(byDigest)) {
		if at := byDigest[d]; len(at) > 1 {
			out = append(out, duplicate(at))
			for _, i := range at {
				done[i] = true
			}
		}
	}
	for i, r := range rs {
		same := []int{r.Index}
		for _, q := range rs[i+1:] {
			if len(r.Values) > 0 && maps.Equal(r.Values, q.Values) {
				same = append(same, q.Index)
			}
		}
		if len(same) > 1 && !done[r.Index] {
			out = append(out, duplicate(same))
			for _, j := range same {
				done[j] = true
			}
		}
	}
	return out
}

func duplicate(at []int) Void {
	return Void{Reason: VoidDuplicate, Rounds: at, Text: fmt.Sprintf("%s are one and the same measurement; copies of a run say nothing about its spread", which(at))}
}

// share of the margin that a difference of the work may be of. The time of a
// request grows with its tokens, so what moves them by a third of the margin
// alone could make a third of a verdict.
const share = 1.0 / 3

// sure is the level at which a difference of the work counts as real: lengths
// and cache hits scatter too where a server may stop when it likes.
const sure = 0.01

// moved finds builds that did different work.
func moved(s sides, o Options) []Void {
	limit := share
	for _, m := range o.primary() {
		limit = min(limit, share*o.margin(m))
	}
	var out []Void
	for _, w := range []struct {
		what, reason string
		of           func(Round) *float64
		relative     bool
	}{
		{"prompt tokens a request", VoidLengths, func(r Round) *float64 { return r.PromptMean }, true},
		{"output tokens a request", VoidLengths, func(r Round) *float64 { return r.OutputMean }, true},
		{"share of the prompt found in the cache", VoidCache, func(r Round) *float64 { return r.CachedShare }, false},
	} {
		a, b := told(s.a, w.of), told(s.b, w.of)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		ma, mb := stat.Summarize(a).Mean, stat.Summarize(b).Mean
		diff := math.Abs(mb - ma)
		if w.relative && ma > 0 {
			diff /= ma
		}
		if diff <= limit || !real(a, b) {
			continue
		}
		out = append(out, Void{Reason: w.reason, Text: fmt.Sprintf("%s moved from %.4g to %.4g between the builds, more than the %s that a verdict allows", w.what, ma, mb, percent(limit))})
	}
	return out
}

func told(rs []Round, of func(Round) *float64) []float64 {
	var out []float64
	for _, r := range rs {
		if v := of(r); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// real says whether two means differ beyond their scatter. One round a side
// has none to hold against it.
func real(a, b []float64) bool {
	if len(a) < 2 || len(b) < 2 {
		return true
	}
	return stat.Unpaired(a, b).P(0) <= sure
}

// values finds primary metrics that can't be compared.
func values(s sides, rs []Round, o Options) []Void {
	var out []Void
	for _, name := range o.primary() {
		with, without := map[Side]int{}, map[Side]int{}
		for _, r := range rs {
			v, ok := r.Values[name]
			switch {
			case !ok:
				without[r.Side]++
				continue
			case !(v > 0) || math.IsInf(v, 0):
				out = append(out, Void{Reason: VoidValue, Side: r.Side, Rounds: []int{r.Index}, Text: fmt.Sprintf("%s is %v in round %d", name, v, r.Index)})
			}
			with[r.Side]++
		}
		if with[A]+with[B] > 0 && without[A]+without[B] > 0 {
			out = append(out, Void{Reason: VoidOneSided, Text: fmt.Sprintf("%s was measured in %d of %d rounds of a and %d of %d of b",
				name, with[A], with[A]+without[A], with[B], with[B]+without[B])})
		}
	}
	return out
}

func list(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

// mostNamed rounds are named one by one.
const mostNamed = 6

func which(indexes []int) string {
	if len(indexes) == 1 {
		return fmt.Sprintf("round %d", indexes[0])
	}
	var parts []string
	for _, i := range indexes[:min(len(indexes), mostNamed)] {
		parts = append(parts, fmt.Sprint(i))
	}
	if more := len(indexes) - mostNamed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "rounds " + strings.Join(parts, ", ")
}
