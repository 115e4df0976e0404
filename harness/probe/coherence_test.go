package probe

import (
	"testing"

	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

func guide(tags ...string) fixture.Prompt {
	return fixture.Prompt{ID: "guide", Kind: fixture.KindGuide, User: "Write a guide.", Tags: tags, Expect: fixture.Expect{Coherent: true}}
}

const (
	bangs = "The capital of Norway is Os!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"
	prose = "First gather the paper, then fold it along the long side, and glue the edges together."
)

func TestCoherence(t *testing.T) {
	l := newLab()
	l.put(verdict.Coherence, guide(), 0, says(prose), nil)
	status(t, coherenceProbe{}.Score(l.Evidence), verdict.CoherenceText, verdict.Pass)

	l.put(verdict.Anchors, fact(1, "x"), 0, says(bangs), nil)
	o := coherenceProbe{}.Score(l.Evidence)
	if len(find(o, verdict.CoherenceText)) > 0 {
		t.Error("an answer to an anchor that ends in a run of ! passes")
	}
	status(t, o, verdict.CoherenceMostly, verdict.Fail)
	for _, f := range o.Findings {
		if f.Check != verdict.CoherenceMostly && f.Where[:15] != "anchors/fact-01" {
			t.Errorf("the finding points elsewhere: %+v", f)
		}
	}
}

func TestCoherenceAgainstBaseline(t *testing.T) {
	l := newLab()
	// The good build says it too: whatever it is, this build didn't bring it.
	l.put(verdict.Coherence, guide(), 0, says(bangs), says(bangs))
	status(t, coherenceProbe{}.Score(l.Evidence), verdict.CoherenceText, verdict.Pass)
}

func TestCoherenceOfNothing(t *testing.T) {
	l := newLab()
	l.put(verdict.Coherence, guide(), 0, nil, nil)
	if o := (coherenceProbe{}).Score(l.Evidence); len(o.Findings) > 0 {
		t.Errorf("findings out of nothing: %+v", o.Findings)
	}
}
