package probe

import (
	"fmt"

	"touchstone/harness/coherence"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// coherenceProbe asks for texts of some length and runs every text check over
// them and over the answers to the anchors. With a baseline a check counts
// only where the baseline's answer to the same request is free of it.
type coherenceProbe struct{}

func (coherenceProbe) Area() verdict.Area { return verdict.Coherence }

func (coherenceProbe) Reads() []verdict.Area {
	return []verdict.Area{verdict.Coherence, verdict.Anchors}
}

func (coherenceProbe) Plan(env Env) []exchange.Request {
	return askEach(env, verdict.Coherence, func(p fixture.Prompt) bool { return !grouped(p) && !p.Known() })
}

func (c coherenceProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	judged, bad, compared := 0, 0, 0
	for _, it := range ev.In(c.Reads()...) {
		if !it.OK() {
			continue
		}
		judged++
		base := ev.Answer(it.Request)
		if base != nil {
			compared++
		}
		found := degenerate(ev.Prompts[it.Request.Case], it.Reply, base)
		if len(found) > 0 {
			bad++
		}
		for _, f := range found {
			out := verdict.Finding{
				Check:     string(verdict.Coherence) + "." + f.Check,
				Status:    verdict.Fail,
				Summary:   f.Summary,
				Measured:  number(f.Measured),
				Limit:     number(f.Limit),
				Evidence:  f.Excerpt,
				Where:     fmt.Sprintf("%s, byte %d", it.Request.ID, f.Offset),
				Reproduce: ev.reproduce(it),
			}
			if base != nil {
				out.Baseline = excerpt(answer(base))
			}
			o.add(out)
		}
	}
	if bad > 0 && 2*bad >= judged {
		o.add(verdict.Finding{
			Check: verdict.CoherenceMostly, Status: verdict.Fail,
			Summary:  "most answers are degenerate",
			Measured: share(bad, judged), Limit: "under half",
		})
	}
	if judged > 0 && bad == 0 {
		o.add(verdict.Finding{
			Check: verdict.CoherenceText, Status: verdict.Pass,
			Summary:  fmt.Sprintf("%d answers read, none degenerate", judged),
			Measured: "0", Limit: "0",
			Baseline: fmt.Sprintf("%d of them held against the baseline's answer", compared),
		})
	}
	if ev.Baseline == nil && judged > 0 {
		o.skip(verdict.CoherenceText, "no baseline: judged by the gross rules alone")
	}
	return o
}

// degenerate runs the text checks over one reply.
func degenerate(p fixture.Prompt, r *exchange.Reply, base *fixture.Answer) []coherence.Finding {
	t := coherence.Text{Text: r.Answer(), Prompt: said(p), Tags: p.Tags}
	if base != nil {
		s := answer(base)
		t.Baseline = &s
	}
	return coherence.Run(t)
}

// sampled runs the gross rules over a text of the load, which no baseline
// answer can stand beside.
func sampled(ev *Evidence, it Item) []coherence.Finding {
	t := coherence.Text{Text: it.Reply.Answer(), Prompt: it.Request.Prompt}
	for _, m := range it.Request.Messages {
		t.Prompt += m.Content
	}
	if ev.Workload != nil {
		t.Tags = ev.Workload.Tags
	}
	return coherence.Run(t)
}
