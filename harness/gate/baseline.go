package gate

import (
	"fmt"
	"slices"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load"
	"touchstone/harness/parity"
	"touchstone/harness/probe"
	"touchstone/harness/verdict"
)

// NewBaseline makes a baseline of two passes over one launch of a build. What
// the passes differ by is the build's own noise, as far as one launch shows it.
func NewBaseline(name string, first, second *Result) *fixture.Baseline {
	b := &fixture.Baseline{
		Schema: fixture.BaselineSchema, Name: name, Tool: first.Meta.Tool, Recorded: first.Meta.Started,
		Tier: first.Meta.Tier, Target: first.Meta.Target,
		PromptsHash: fixture.Hash(promptsOf(first.Evidence)),
		Answers:     answers(first.Evidence),
	}
	b.Noise = noise(b.Answers, answers(second.Evidence), fixture.WithinLaunch)
	b.Launches = launches(first)
	return b
}

// Append adds another launch of the same build to a baseline: its speed, and
// by how much its answers differ from the ones on record.
func Append(b *fixture.Baseline, again *Result) error {
	if b.Tier != again.Meta.Tier {
		return fmt.Errorf("baseline %s was recorded at tier %s, this pass at %s: append at the same tier", b.Name, b.Tier, again.Meta.Tier)
	}
	if h := fixture.Hash(promptsOf(again.Evidence)); h != b.PromptsHash {
		return fmt.Errorf("baseline %s was recorded over other prompts (%s, now %s): record it anew", b.Name, b.PromptsHash, h)
	}
	n := noise(b.Answers, answers(again.Evidence), fixture.AcrossLaunches)
	n.Passes = b.Noise.Passes + 1
	b.Noise = worse(b.Noise, n)
	b.Launches = append(b.Launches, launches(again)...)
	return nil
}

// worse keeps the larger figure of two measurements of noise, under the wider
// scope: launches differ by more than passes do.
func worse(a, b fixture.Noise) fixture.Noise {
	b.Identical = min(a.Identical, b.Identical)
	b.Explained = max(a.Explained, b.Explained)
	b.Unexplained = max(a.Unexplained, b.Unexplained)
	for _, f := range []struct{ a, b **float64 }{
		{&a.MaxLogprobDelta, &b.MaxLogprobDelta}, {&a.P99LogprobDelta, &b.P99LogprobDelta}, {&a.MeanLogprobDelta, &b.MeanLogprobDelta},
	} {
		if *f.b == nil || *f.a != nil && **f.a > **f.b {
			*f.b = *f.a
		}
	}
	return b
}

func promptsOf(ev *probe.Evidence) []fixture.Prompt {
	var out []fixture.Prompt
	for _, p := range ev.Prompts {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b fixture.Prompt) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// answers are the replies of all areas that a later run compares with, sorted
// by request.
func answers(ev *probe.Evidence) []fixture.Answer {
	counts := map[string]int{}
	for _, it := range ev.In(verdict.Tokens) {
		if it.OK() && it.Reply.TokenList != nil {
			counts[it.Request.Case] = len(it.Reply.TokenList)
		}
	}
	var out []fixture.Answer
	for _, it := range ev.In(verdict.Coherence, verdict.Anchors, verdict.Context) {
		if !it.OK() {
			continue
		}
		a := fixture.NewAnswer(it.Request, it.Reply)
		if n, ok := counts[it.Request.Case]; ok {
			a.TokenizeCount = &n
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b fixture.Answer) int { return strings.Compare(a.Request, b.Request) })
	return out
}

func noise(a, b []fixture.Answer, scope string) fixture.Noise {
	n := fixture.Noise{Scope: scope, Passes: 2}
	again := map[string]fixture.Answer{}
	for _, x := range b {
		again[x.Request] = x
	}
	var base, cand []parity.Sequence
	for _, x := range a {
		y, ok := again[x.Request]
		if !ok {
			continue
		}
		n.Answers++
		s, t := probe.Recorded(&x), probe.Recorded(&y)
		base, cand = append(base, s), append(cand, t)
		switch d := parity.Compare(s, t, parity.Tie(nil)); {
		case x.Text == y.Text && d.Index < 0:
			n.Identical++
		case d.Margin != nil && *d.Margin <= parity.Tie(nil):
			n.Explained++
		default:
			n.Unexplained++
		}
	}
	if d := parity.Delta(base, cand); d != nil {
		n.MaxLogprobDelta, n.P99LogprobDelta, n.MeanLogprobDelta = &d.Max, &d.P99, &d.Mean
	}
	return n
}

// launches is the speed of a run's load, if there was one.
func launches(r *Result) []fixture.Launch {
	var xs []*exchange.Exchange
	for _, it := range r.Evidence.In(verdict.Throughput) {
		if it.Exchange != nil {
			xs = append(xs, it.Exchange)
		}
	}
	if len(xs) == 0 || r.Evidence.Workload == nil {
		return nil
	}
	m := load.Measure(xs)
	l := fixture.Launch{
		Recorded: r.Meta.Started, Workload: r.Evidence.Workload.Name,
		Requests: m.Requests, OK: m.Successes, Metrics: map[string]float64{},
	}
	if m.OutputTokensPerS != nil {
		l.OutputTokensPerS = *m.OutputTokensPerS
	}
	if m.RequestsPerS != nil {
		l.RequestsPerS = *m.RequestsPerS
	}
	for name, t := range map[string]*load.Latency{"ttft": m.TTFT, "tpot": m.TPOT, "itl": m.ITL, "e2el": m.E2EL} {
		if t != nil {
			l.Metrics[name+"_mean_ms"], l.Metrics[name+"_p50_ms"] = t.Mean, t.P50
			l.Metrics[name+"_p90_ms"], l.Metrics[name+"_p99_ms"] = t.P90, t.P99
		}
	}
	return []fixture.Launch{l}
}
