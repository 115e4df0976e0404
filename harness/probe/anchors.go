package probe

import (
	"fmt"
	"math"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/parity"
	"touchstone/harness/verdict"
)

// anchorsProbe asks what has one right answer: facts, copies of nonces, a
// needle in filler. A model that lost its attention can't copy, one with
// misplaced weights knows nothing.
type anchorsProbe struct{}

func (anchorsProbe) Area() verdict.Area { return verdict.Anchors }

func (anchorsProbe) Reads() []verdict.Area { return []verdict.Area{verdict.Anchors} }

func (anchorsProbe) Plan(env Env) []exchange.Request {
	return askEach(env, verdict.Anchors, func(p fixture.Prompt) bool { return !grouped(p) && p.Known() })
}

const (
	// chance is a generous rate at which a broken server's text holds the
	// right answer: copies of nonces are never right by chance, and a random
	// word is the wanted one far less often than once in twenty.
	chance = 0.05
	// significance is the chance to call a build good that answers at random.
	significance = 1e-3
	// dropFew and dropShare: a group of anchors is worse than the baseline's
	// when it lost 3 of 24, or 5 % of a larger set (reports.md, R1).
	dropFew   = 3
	dropShare = 0.05
)

func (a anchorsProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	var judged, right, compared, baseRight, lost int
	var firstWrong *Item
	for _, it := range ev.In(verdict.Anchors) {
		if !it.OK() {
			continue
		}
		p := ev.Prompts[it.Request.Case]
		good, _ := p.Expect.Meets(it.Reply.Answer(), it.Reply.FinishReason)
		if !good && it.Reply.FinishReason == "length" && cutShort(it.Reply) {
			o.skip(verdict.AnchorsAnswers, "%s: cut by max_tokens before an answer", it.Request.ID)
			continue
		}
		judged++
		if good {
			right++
		} else if firstWrong == nil {
			item := it
			firstWrong = &item
		}
		base := ev.Answer(it.Request)
		if base == nil {
			continue
		}
		compared++
		if was, _ := p.Expect.Meets(answer(base), base.Finish); !was {
			continue
		}
		baseRight++
		if good {
			continue
		}
		lost++
		if f, ok := a.regression(ev, it, p, base); ok {
			o.add(f)
		}
	}
	if judged == 0 {
		return o
	}
	a.group(ev, &o, firstWrong, judged, right, compared, baseRight, lost)
	return o
}

// cutShort says whether a reply was still thinking or wording when it ended:
// a short wrong answer that hit a tiny limit is not.
func cutShort(r *exchange.Reply) bool { return r.Reasoning != "" && r.Text == "" }

// regression judges one answer that was right in the baseline. A first
// difference at a near-tie is what a good kernel rewrite does; it is left to
// the group.
func (anchorsProbe) regression(ev *Evidence, it Item, p fixture.Prompt, base *fixture.Answer) (verdict.Finding, bool) {
	f := verdict.Finding{
		Check: verdict.AnchorsRegression, Status: verdict.Fail,
		Summary:  fmt.Sprintf("%q was answered rightly by the baseline and is no longer", excerpt(said(p))),
		Measured: excerpt(it.Reply.Answer()), Limit: wanted(p.Expect), Baseline: excerpt(answer(base)),
		Where: it.Request.ID, Reproduce: ev.reproduce(it),
	}
	b, c := Recorded(base), replied(it.Reply)
	switch {
	case len(b.IDs) == 0:
		return f, false // a change of wording can't be told from a fault, so the group decides
	case len(c.IDs) == 0:
		f.Summary += "; its token ids, which the baseline's server told, are missing"
		return f, true
	}
	d := parity.Compare(b, c, parity.Tie(nil))
	switch {
	case d.Index < 0:
		f.Summary += "; the token ids are the same, so the text was damaged behind the model"
		return f, true
	case d.Margin == nil || *d.Margin <= parity.Tie(nil):
		return f, false
	}
	f.Where = fmt.Sprintf("%s, token %d", it.Request.ID, d.Index)
	f.Summary += fmt.Sprintf("; the first token that differs is no near-tie (%.2f nats)", *d.Margin)
	return f, true
}

// group judges the anchors together: against the baseline's score, or against
// what a server that answers at random would reach.
func (anchorsProbe) group(ev *Evidence, o *Outcome, wrong *Item, judged, right, compared, baseRight, lost int) {
	f := verdict.Finding{
		Check: verdict.AnchorsAnswers, Status: verdict.Pass,
		Summary:  fmt.Sprintf("%s known answers and copies are right", share(right, judged)),
		Measured: share(right, judged),
	}
	if wrong != nil {
		p := ev.Prompts[wrong.Request.Case]
		f.Where, f.Reproduce = wrong.Request.ID, ev.reproduce(*wrong)
		f.Evidence = fmt.Sprintf("%s → %s; wanted: %s", excerpt(said(p)), excerpt(wrong.Reply.Answer()), wanted(p.Expect))
	}
	need := atLeast(judged, chance, significance)
	switch {
	case baseRight > 0:
		most := max(dropFew, int(math.Ceil(dropShare*float64(compared)))) - 1
		f.Baseline, f.Limit = share(baseRight, compared), fmt.Sprintf("at most %d of the baseline's right answers lost", most)
		if lost > most {
			f.Status = verdict.Fail
			f.Summary = fmt.Sprintf("%d known answers that the baseline had right are wrong", lost)
		}
	case need > judged:
		f.Status = verdict.Inconclusive
		f.Limit = "enough anchors to tell from chance"
		f.Summary = fmt.Sprintf("%d anchors are too few to judge without a baseline", judged)
	default:
		f.Limit = fmt.Sprintf("at least %d of %d, more than chance gives", need, judged)
		if right < need {
			f.Status = verdict.Fail
			f.Summary = fmt.Sprintf("only %s known answers and copies are right, no more than chance gives", share(right, judged))
		}
		o.skip(verdict.AnchorsRegression, "no baseline: a single wrong answer can't be told from what the model doesn't know")
	}
	o.add(f)
}

// atLeast returns the smallest k with P(X ≥ k) < alpha for X ~ Binomial(n, p):
// the score that chance hardly reaches. It is n+1 when even n right answers
// would prove nothing.
func atLeast(n int, p, alpha float64) int {
	tail := 0.0
	for k := n; k >= 0; k-- {
		tail += math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
		if tail >= alpha {
			return k + 1
		}
	}
	return 0
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
