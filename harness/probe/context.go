package probe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	// deafJS and deafShift: a pair of next-token distributions is one and the
	// same when their Jensen–Shannon divergence is at the noise (lost attention
	// stays under 1e-3 nats, correctness.md, P4) and no token that both list
	// moved by more than two steps of bfloat16 (0.25 nats, see parity.TieFloor).
	// JS alone would not do: misplaced weights can make a model so sure of one
	// wrong token that JS vanishes, while the logits behind it move by nats.
	deafJS    = 1e-3
	deafShift = parity.TieFloor
	// leastJS is the median JS (nats) under which a context counts too little.
	// Healthy servers show well over 0.1 (correctness.md, P4).
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
		c.deaf(ev, &o, verdict.ContextConstant, c.pairs(ev, true),
			"the next-token distribution is the same whatever the last token is",
			"the next-token distribution moves with the last token")
		beginnings := c.pairs(ev, false)
		c.deaf(ev, &o, verdict.ContextInsensitive, beginnings,
			"the next-token distribution is the same whatever stands before the last tokens",
			"the next-token distribution moves with what stands before the last tokens")
		c.weak(ev, &o, beginnings)
	} else {
		for _, check := range []string{verdict.ContextConstant, verdict.ContextInsensitive, verdict.ContextWeak} {
			o.skip(check, "the server gives no log-probabilities")
		}
	}
	c.sameAnswer(ev, &o)
	return o
}

// pair is two inputs of a group and how far their distributions are apart.
type pair struct {
	first, second Item
	js            float64  // nats
	shift         float64  // largest move of a token that both list, nats
	was           *float64 // the baseline's JS
}

// deaf judges whether most pairs are one and the same distribution.
func (contextProbe) deaf(ev *Evidence, o *Outcome, check string, pairs []pair, bad, good string) {
	if len(pairs) == 0 {
		o.skip(check, "no pair of log-probability lists came back")
		return
	}
	var same []pair
	for _, p := range pairs {
		if p.js < deafJS && p.shift < deafShift {
			same = append(same, p)
		}
	}
	f := verdict.Finding{
		Check: check, Status: verdict.Pass, Summary: good,
		Measured: share(len(same), len(pairs)) + " pairs are one distribution",
		Limit:    fmt.Sprintf("under half (JS under %s nats and no token moved by %s)", number(deafJS), number(deafShift)),
	}
	if 2*len(same) >= len(pairs) {
		p := same[0]
		f.Status, f.Summary = verdict.Fail, bad
		f.Evidence = fmt.Sprintf("JS %s nats between %s and %s; the likeliest tokens of both: %s", number(p.js), p.first.Request.ID, p.second.Request.ID, tops(p.first.Reply))
		f.Where, f.Reproduce = p.first.Request.ID, ev.reproduce(p.first)
	}
	o.add(f)
}

// weak judges whether beginnings move the distribution as much as they should.
func (contextProbe) weak(ev *Evidence, o *Outcome, pairs []pair) {
	if len(pairs) == 0 {
		return
	}
	var now, was []float64
	for _, p := range pairs {
		now = append(now, p.js)
		if p.was != nil {
			was = append(was, *p.was)
		}
	}
	sort.Float64s(now)
	sort.Float64s(was)
	m, limit := median(now), leastJS
	f := verdict.Finding{
		Check: verdict.ContextWeak, Status: verdict.Pass,
		Summary:  "what stands before moves the next-token distribution as much as it should",
		Measured: fmt.Sprintf("JS %s nats (median of %d pairs)", number(m), len(now)),
	}
	if len(was) == len(now) {
		f.Baseline = fmt.Sprintf("JS %s nats", number(median(was)))
		limit = max(limit, leastRatio*median(was))
	} else {
		o.skip(verdict.ContextWeak, "no baseline: held against the absolute limit of %s nats alone", number(leastJS))
	}
	f.Limit = fmt.Sprintf("at least %s nats", number(limit))
	if m < limit {
		least := slices.MinFunc(pairs, func(a, b pair) int { return cmp.Compare(a.js, b.js) })
		f.Status = verdict.Fail
		f.Summary = "what stands before moves the next-token distribution too little"
		f.Where, f.Reproduce, f.Evidence = least.first.Request.ID, ev.reproduce(least.first), tops(least.first.Reply)
	}
	o.add(f)
}

// pairs are all pairs within a group, of the control groups or of the others.
func (contextProbe) pairs(ev *Evidence, control bool) []pair {
	items := ok(ev.In(verdict.Context))
	var out []pair
	for i, a := range items {
		if p, has := ev.Prompts[a.Request.Case]; !has || (p.Control != nil) != control {
			continue
		}
		for _, b := range items[i+1:] {
			if b.Request.Case != a.Request.Case || !parity.Usable(next(a.Reply)) || !parity.Usable(next(b.Reply)) {
				continue
			}
			p := pair{first: a, second: b, js: parity.JS(next(a.Reply), next(b.Reply)), shift: shift(next(a.Reply), next(b.Reply))}
			x, y := ev.Answer(a.Request), ev.Answer(b.Request)
			if x != nil && y != nil && len(x.Top) > 0 && len(y.Top) > 0 {
				js := parity.JS(alternatives(x.Top), alternatives(y.Top))
				p.was = &js
			}
			out = append(out, p)
		}
	}
	return out
}

// shift is the largest difference of a log-probability, in nats, over the
// tokens that both lists hold; infinite where they share less than half.
func shift(p, q []exchange.Alternative) float64 {
	at := map[string]float64{}
	for _, a := range p {
		if a.Logprob != nil {
			at[tokenKey(a)] = *a.Logprob
		}
	}
	most, shared := 0.0, 0
	for _, a := range q {
		if l, has := at[tokenKey(a)]; has && a.Logprob != nil {
			shared++
			most = max(most, math.Abs(l-*a.Logprob))
		}
	}
	if 2*shared < max(len(p), len(q)) {
		return math.Inf(1)
	}
	return most
}

func tokenKey(a exchange.Alternative) string {
	if a.ID != nil {
		return fmt.Sprint(*a.ID)
	}
	return "text " + a.Text
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
	sameAnswer(ev, o, verdict.ContextSameAnswer, "questions", ok(ev.In(verdict.Anchors)))
}

func sameAnswer(ev *Evidence, o *Outcome, check, what string, items []Item) {
	if len(items) < sameFew {
		if len(items) > 0 {
			o.skip(check, "%d %s were answered, %d are needed", len(items), what, sameFew)
		}
		return
	}
	answers := map[string][]Item{}
	worst := ""
	for _, it := range items {
		key := sameWords(it.Reply.Answer())
		answers[key] = append(answers[key], it)
		if len(answers[key]) > len(answers[worst]) {
			worst = key
		}
	}
	n := len(answers[worst])
	f := verdict.Finding{
		Check: check, Status: verdict.Pass,
		Summary:  fmt.Sprintf("different %s get different answers", what),
		Measured: share(n, len(items)) + " share one answer",
		Limit:    fmt.Sprintf("under %.0f %%", 100*sameShare),
	}
	if float64(n) >= sameShare*float64(len(items)) {
		f.Status = verdict.Fail
		f.Summary = fmt.Sprintf("%d of %d different %s get one and the same answer", n, len(items), what)
		it := answers[worst][0]
		f.Evidence, f.Where, f.Reproduce = excerpt(it.Reply.Answer()), it.Request.ID, ev.reproduce(it)
	}
	o.add(f)
}
