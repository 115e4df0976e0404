package probe

import (
	"fmt"
	"sort"

	"touchstone/harness/exchange"
	"touchstone/harness/parity"
	"touchstone/harness/verdict"
)

// contextProbe asks whether what stands before the last tokens reaches the
// next-token distribution: the same ending after different beginnings must
// give different distributions. When attention is lost it doesn't, when weights
// are misplaced it does, so the two causes come apart. The control turns it
// round: the same beginning with different last tokens, which only constant
// logits leave unmoved.
type contextProbe struct{}

func (contextProbe) Area() verdict.Area { return verdict.Context }

func (contextProbe) Reads() []verdict.Area {
	return []verdict.Area{verdict.Context, verdict.Anchors}
}

const (
	// leastJS is the median Jensen–Shannon divergence (nats) under which a
	// server is deaf to its context. Healthy servers show well over 0.1, lost
	// attention stays at the noise, under 1e-3 (correctness.md, P4).
	leastJS = 0.02
	// leastRatio: the median may not fall under half of the baseline's.
	leastRatio = 0.5
	// sameShare and sameFew: this share of at least so many different
	// questions with one and the same answer is a fault.
	sameShare = 0.8
	sameFew   = 4
)

func (contextProbe) Plan(env Env) []exchange.Request {
	if !env.Target.Can(exchange.CapLogprobs) {
		return nil
	}
	var out []exchange.Request
	for _, p := range env.Prompts {
		if !grouped(p) || !possible(env, p) {
			continue
		}
		for _, in := range p.Inputs() {
			out = append(out, ask(env, verdict.Context, p, in, 1, topNext))
		}
	}
	return out
}

func (c contextProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	if ev.Target.Can(exchange.CapLogprobs) {
		c.distributions(ev, &o, verdict.ContextConstant, true,
			"the next-token distribution is the same whatever the last token is",
			"the next-token distribution moves with the last token")
		c.distributions(ev, &o, verdict.ContextInsensitive, false,
			"the next-token distribution is the same whatever stands before the last tokens",
			"the next-token distribution moves with what stands before the last tokens")
	} else {
		for _, check := range []string{verdict.ContextConstant, verdict.ContextInsensitive} {
			o.skip(check, "the server gives no log-probabilities")
		}
	}
	c.sameAnswer(ev, &o)
	return o
}

// group is one prompt's distributions, this build's and the baseline's.
type group struct {
	id       string
	now, was []float64 // JS of each pair
	first    Item
}

func (c contextProbe) distributions(ev *Evidence, o *Outcome, check string, control bool, bad, good string) {
	groups := c.groups(ev, control)
	var now, was []float64
	for _, g := range groups {
		now, was = append(now, g.now...), append(was, g.was...)
	}
	if len(now) == 0 {
		o.skip(check, "no pair of log-probability lists came back")
		return
	}
	sort.Float64s(now)
	sort.Float64s(was)
	m, limit := median(now), leastJS
	f := verdict.Finding{
		Check: check, Status: verdict.Pass, Summary: good,
		Measured: fmt.Sprintf("JS %s nats (median of %d pairs)", number(m), len(now)),
	}
	if len(was) == len(now) {
		f.Baseline = fmt.Sprintf("JS %s nats", number(median(was)))
		limit = max(limit, leastRatio*median(was))
	} else if ev.Baseline == nil && !control {
		o.skip(check, "no baseline: held against the absolute limit of %s nats alone", number(leastJS))
	}
	f.Limit = fmt.Sprintf("at least %s nats", number(limit))
	if m < limit {
		f.Status = verdict.Fail
		f.Summary = bad
		if m >= leastJS {
			f.Summary = "the next-token distribution moves less than half as much as the baseline's with what stands before"
			if control {
				f.Summary = "the next-token distribution moves less than half as much as the baseline's with the last token"
			}
			f.Check = weaker(check)
		}
		f.Where, f.Reproduce = groups[0].id, ev.reproduce(groups[0].first)
		f.Evidence = tops(groups[0].first.Reply)
	}
	o.add(f)
}

// weaker names the finding for a context that still counts but less: it is no
// sign of lost attention as a whole, so the diagnosis must not take it for one.
func weaker(check string) string { return check + "-partly" }

func (contextProbe) groups(ev *Evidence, control bool) []group {
	byCase := map[string][]Item{}
	for _, it := range ok(ev.In(verdict.Context)) {
		if p, has := ev.Prompts[it.Request.Case]; has && (p.Control != nil) == control {
			byCase[it.Request.Case] = append(byCase[it.Request.Case], it)
		}
	}
	ids := make([]string, 0, len(byCase))
	for id := range byCase {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	var out []group
	for _, id := range ids {
		items := byCase[id]
		g := group{id: string(verdict.Context) + "/" + id, first: items[0]}
		for i := range items {
			for j := i + 1; j < len(items); j++ {
				p, q := next(items[i].Reply), next(items[j].Reply)
				if len(p) == 0 || len(q) == 0 {
					continue
				}
				g.now = append(g.now, parity.JS(p, q))
				a, b := ev.Answer(items[i].Request), ev.Answer(items[j].Request)
				if a != nil && b != nil && len(a.Top) > 0 && len(b.Top) > 0 {
					g.was = append(g.was, parity.JS(alternatives(a.Top), alternatives(b.Top)))
				}
			}
		}
		if len(g.now) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// next returns the distribution of the first generated token.
func next(r *exchange.Reply) []exchange.Alternative {
	if len(r.Tokens) == 0 {
		return nil
	}
	return r.Tokens[0].Top
}

func tops(r *exchange.Reply) string {
	s := ""
	for i, a := range next(r) {
		if i == 3 || a.Logprob == nil {
			break
		}
		if s != "" {
			s += "  "
		}
		s += fmt.Sprintf("%q %.3f", a.Text, *a.Logprob)
	}
	return s
}

// sameAnswer needs texts alone: a server that lost its context may answer
// every question with the same fluent sentence, which no text check stops.
func (contextProbe) sameAnswer(ev *Evidence, o *Outcome) {
	answers := map[string][]Item{}
	judged, worst := 0, ""
	for _, it := range ok(ev.In(verdict.Anchors)) {
		judged++
		key := sameWords(it.Reply.Answer())
		answers[key] = append(answers[key], it)
		if len(answers[key]) > len(answers[worst]) {
			worst = key
		}
	}
	if judged < sameFew {
		if judged > 0 {
			o.skip(verdict.ContextSameAnswer, "%d questions were answered, %d are needed", judged, sameFew)
		}
		return
	}
	n := len(answers[worst])
	f := verdict.Finding{
		Check: verdict.ContextSameAnswer, Status: verdict.Pass,
		Summary:  "different questions get different answers",
		Measured: share(n, judged) + " share one answer",
		Limit:    fmt.Sprintf("under %.0f %%", 100*sameShare),
	}
	if float64(n) >= sameShare*float64(judged) {
		f.Status = verdict.Fail
		f.Summary = fmt.Sprintf("%d of %d different questions get one and the same answer", n, judged)
		it := answers[worst][0]
		f.Evidence, f.Where, f.Reproduce = excerpt(it.Reply.Answer()), it.Request.ID, ev.reproduce(it)
	}
	o.add(f)
}
