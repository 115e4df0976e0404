// Package probe holds the black-box experiments, one a file: which requests to
// send, and how to score what came back. Planning and scoring are pure; only
// Session sends anything.
package probe

import (
	"fmt"
	"sort"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// Probe is one experiment.
type Probe interface {
	Area() verdict.Area
	// Reads lists the areas whose exchanges Score looks at, its own included.
	Reads() []verdict.Area
	// Plan returns the requests to send, with ids that are the same for the
	// same prompts on every server.
	Plan(Env) []exchange.Request
	// Score judges the exchanges. It is pure and gives sorted or plan order.
	Score(*Evidence) Outcome
}

// All returns the probes in the order in which they run. Throughput comes
// last: the numbers of a server that talks gibberish are worth nothing.
func All() []Probe {
	return []Probe{coherenceProbe{}, tokensProbe{}, anchorsProbe{}, contextProbe{}, throughputProbe{}, serverProbe{}}
}

// Env is what a plan is made from.
type Env struct {
	Target   exchange.Target
	Prompts  []fixture.Prompt // already chosen for tier and model, sorted by id
	Workload *fixture.Workload
	Salt     int64 // of the load's nonces: another one in each run
}

// Item is a planned request and what became of it. Exchange is nil when the
// run holds none; Reply is nil when nothing could be decoded.
type Item struct {
	Request  exchange.Request
	Exchange *exchange.Exchange
	Reply    *exchange.Reply
	Failure  *exchange.Failure
}

// OK says whether a complete reply came back.
func (i Item) OK() bool { return i.Exchange != nil && i.Failure == nil && i.Reply != nil }

// Evidence is everything that a judgement may use. It comes from a run folder
// alone.
type Evidence struct {
	Target   exchange.Target
	Prompts  map[string]fixture.Prompt
	Workload *fixture.Workload
	Items    []Item
	Baseline *fixture.Baseline // nil: none
	answers  map[string]*fixture.Answer
}

// NewEvidence decodes the exchanges of a run against its plan. Exchanges that
// are not in the plan are refused: they would be judged by nobody.
func NewEvidence(target exchange.Target, prompts []fixture.Prompt, workload *fixture.Workload, plan []exchange.Request,
	exchanges []*exchange.Exchange, base *fixture.Baseline) (*Evidence, error) {
	ev := &Evidence{Target: target, Workload: workload, Baseline: base,
		Prompts: map[string]fixture.Prompt{}, answers: map[string]*fixture.Answer{}}
	for _, p := range prompts {
		ev.Prompts[p.ID] = p
	}
	byID := make(map[string]*exchange.Exchange, len(exchanges))
	for _, x := range exchanges {
		byID[x.Request.ID] = x
	}
	for _, r := range plan {
		it := Item{Request: r, Exchange: byID[r.ID]}
		delete(byID, r.ID)
		if it.Exchange != nil {
			it.Reply, it.Failure = exchange.Decode(it.Exchange)
		}
		ev.Items = append(ev.Items, it)
	}
	if len(byID) > 0 {
		ids := make([]string, 0, len(byID))
		for id := range byID {
			ids = append(ids, id)
		}
		sort.Strings(ids)
		return nil, fmt.Errorf("the run holds %d exchanges that its plan doesn't name, the first is %q: was plan.json edited?", len(ids), ids[0])
	}
	if base != nil {
		for i := range base.Answers {
			ev.answers[base.Answers[i].Request] = &base.Answers[i]
		}
	}
	return ev, nil
}

// In returns the items of an area, in plan order.
func (ev *Evidence) In(areas ...verdict.Area) []Item {
	var out []Item
	for _, it := range ev.Items {
		for _, a := range areas {
			if it.Request.Probe == string(a) {
				out = append(out, it)
			}
		}
	}
	return out
}

// Answer returns the baseline's answer to the same request, or nil. An answer
// to another text under the same id doesn't count: the prompt was changed.
func (ev *Evidence) Answer(r exchange.Request) *fixture.Answer {
	a := ev.answers[r.ID]
	if a == nil || a.Hash != fixture.RequestHash(r) {
		return nil
	}
	return a
}

// Outcome is what a probe saw.
type Outcome struct {
	Findings   []verdict.Finding
	NotCovered []verdict.Uncovered
}

func (o *Outcome) add(f verdict.Finding) { o.Findings = append(o.Findings, f) }

func (o *Outcome) skip(check, reason string, args ...any) {
	o.NotCovered = append(o.NotCovered, verdict.Uncovered{Check: check, Reason: fmt.Sprintf(reason, args...)})
}

// reproduce returns the curl command of an item.
func (ev *Evidence) reproduce(it Item) string { return exchange.Curl(it.Request, ev.Target.Model) }

// Judge scores all the evidence and makes the verdict of it.
//
// required are the areas without which it is no pass.
func Judge(ev *Evidence, required []verdict.Area) verdict.Verdict {
	var fs []verdict.Finding
	var nc []verdict.Uncovered
	for _, p := range All() {
		if p.Area() != verdict.Throughput && len(ev.In(p.Reads()...)) == 0 {
			continue // never planned: a load alone has no context to judge
		}
		o := p.Score(ev)
		fs = append(fs, o.Findings...)
		nc = append(nc, o.NotCovered...)
	}
	return verdict.Decide(fs, nc, required)
}

// For returns the probe of an area.
func For(area verdict.Area) (Probe, bool) {
	for _, p := range All() {
		if p.Area() == area {
			return p, true
		}
	}
	return nil, false
}

// TokensAtMost returns how many tokens the requests may generate.
func TokensAtMost(rs []exchange.Request) int {
	n := 0
	for _, r := range rs {
		most, _ := maxTokens(r)
		n += most
	}
	return n
}

// PromptTokensAbout estimates the prompts' tokens: a token is about four bytes
// of English text in today's vocabularies.
func PromptTokensAbout(rs []exchange.Request) int {
	n := 0
	for _, r := range rs {
		n += len(r.Prompt) + 4*len(r.PromptIDs)
		for _, m := range r.Messages {
			n += len(m.Content) + 16 // role and markers
		}
	}
	return n / 4
}
