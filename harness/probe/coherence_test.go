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

// A weak model that repeats itself at temperature 0 is healthy, one answer in
// ten. Beside a baseline that does not, it is not.
func TestCoherenceLoopsOfWeakModels(t *testing.T) {
	const loop = "Snow is the purest purest purest purest purest purest purest purest purest purest purest purest purest"
	with := func(n, looping int, baseline bool) lab {
		l := newLab()
		for i := range n {
			said, base := says(prose), says(prose)
			if i < looping {
				said = says(loop)
			}
			if !baseline {
				base = nil
			}
			l.put(verdict.Anchors, fact(i, "x"), 0, said, base)
		}
		return l
	}
	status(t, coherenceProbe{}.Score(with(20, 2, false).Evidence), verdict.CoherenceText, verdict.Pass)
	for name, l := range map[string]lab{
		"all of them": with(20, 20, false),
		// Of 20 answers, with one in five looping, 11 or more do once in 1,800
		// runs (binomial tail), 10 or more once in 400.
		"eleven":            with(20, 11, false),
		"beside a baseline": with(20, 1, true),
	} {
		if fs := find(coherenceProbe{}.Score(l.Evidence), "coherence.word-loop"); len(fs) == 0 || fs[0].Status != verdict.Fail {
			t.Errorf("%s: a loop is not found", name)
		}
	}
	if fs := find(coherenceProbe{}.Score(with(20, 10, false).Evidence), "coherence.word-loop"); len(fs) > 0 {
		t.Error("ten of twenty are under the limit")
	}
}
