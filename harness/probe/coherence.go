package probe

import (
	"fmt"
	"slices"

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

const (
	// looping is the share of answers in which a weak but healthy model may
	// fall into a loop at temperature 0: SmolLM2-135M does it in 2 of 23.
	looping = 0.2
)

// loops are the text checks that fire on what weak healthy models do too when
// they are decoded greedily: repeat themselves. With a baseline they count like
// the others. Without one they count as a group.
var loops = []string{
	"compression", "doubled-words", "few-words", "loop-flood", "period-loop", "repeated-text", "stutter", "word-loop",
}

// text is one answer and what the checks found in it.
type text struct {
	Item
	base  *fixture.Answer
	found []coherence.Finding
}

// onlyLoops says whether nothing but repetition was found, and no baseline
// shows whether that is normal.
func (t text) onlyLoops() bool {
	return t.base == nil && !slices.ContainsFunc(t.found, func(f coherence.Finding) bool { return !slices.Contains(loops, f.Check) })
}

func (c coherenceProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	var bad, loop []text
	judged, compared := 0, 0
	for _, it := range ev.In(c.Reads()...) {
		if !it.OK() {
			continue
		}
		judged++
		t := text{Item: it, base: ev.Answer(it.Request)}
		if t.base != nil {
			compared++
		}
		t.found = degenerate(ev.Prompts[it.Request.Case], it.Reply, t.base)
		switch {
		case len(t.found) == 0:
		case t.onlyLoops():
			loop = append(loop, t)
		default:
			bad = append(bad, t)
		}
	}
	if judged == 0 {
		return o
	}
	if limit := atLeast(judged, looping, significance); len(loop) >= limit {
		bad, loop = append(bad, loop...), nil
	}
	for _, t := range bad {
		t.report(ev, &o)
	}
	c.group(&o, judged, compared, len(bad), loop)
	if ev.Baseline == nil {
		o.skip(verdict.CoherenceText, "no baseline: judged by the gross rules alone")
	}
	return o
}

func (t text) report(ev *Evidence, o *Outcome) {
	for _, f := range t.found {
		out := verdict.Finding{
			Check:     string(verdict.Coherence) + "." + f.Check,
			Status:    verdict.Fail,
			Summary:   f.Summary,
			Measured:  number(f.Measured),
			Limit:     number(f.Limit),
			Evidence:  f.Excerpt,
			Where:     fmt.Sprintf("%s, byte %d", t.Request.ID, f.Offset),
			Reproduce: ev.reproduce(t.Item),
		}
		if t.base != nil {
			out.Baseline = excerpt(answer(t.base))
		}
		o.add(out)
	}
}

// group says how many answers are degenerate in all.
func (coherenceProbe) group(o *Outcome, judged, compared, bad int, loop []text) {
	if bad == 0 {
		f := verdict.Finding{
			Check: verdict.CoherenceText, Status: verdict.Pass,
			Summary:  fmt.Sprintf("%d answers read, none degenerate", judged),
			Measured: "0", Limit: "0",
			Baseline: fmt.Sprintf("%d of them held against the baseline's answer", compared),
		}
		if len(loop) > 0 {
			limit := atLeast(judged, looping, significance)
			f.Summary += fmt.Sprintf(", and %d in a loop, as weak models fall into at temperature 0: under %d that is no fault without a baseline", len(loop), limit)
			f.Measured, f.Limit = share(len(loop), judged)+" in a loop", fmt.Sprintf("under %d", limit)
			f.Where, f.Evidence = loop[0].Request.ID, loop[0].found[0].Excerpt
		}
		o.add(f)
	}
	if bad > 0 && 2*bad >= judged {
		o.add(verdict.Finding{
			Check: verdict.CoherenceMostly, Status: verdict.Fail,
			Summary:  "most answers are degenerate",
			Measured: share(bad, judged), Limit: "under half",
		})
	}
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
