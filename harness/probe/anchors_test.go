package probe

import (
	"fmt"
	"math"
	"testing"

	"touchstone/harness/verdict"
)

// facts fills a lab with n questions of which the first wrong are answered
// wrongly, in the baseline rightly if there is one.
func facts(n, wrong int, baseline bool, bad string) lab {
	l := newLab()
	for i := range n {
		right := fmt.Sprintf("answer%d", i)
		said, base := says("It is "+right+"."), says("It is "+right+".")
		if i < wrong {
			said = says(bad)
		}
		if !baseline {
			base = nil
		}
		l.put(verdict.Anchors, fact(i, right), 0, said, base)
	}
	return l
}

func TestAnchorsWithoutBaseline(t *testing.T) {
	// Of 24 anchors that chance gets right one time in twenty, five or more are
	// right with a probability of 0.6 % and six or more of 0.095 % (binomial
	// tail): six are needed.
	for wrong, want := range map[int]verdict.Status{0: verdict.Pass, 18: verdict.Pass, 19: verdict.Fail, 24: verdict.Fail} {
		o := anchorsProbe{}.Score(facts(24, wrong, false, "salad").Evidence)
		status(t, o, verdict.AnchorsAnswers, want)
	}
	// Three anchors prove something only together: 0.05³ = 0.0125 %.
	status(t, anchorsProbe{}.Score(facts(3, 0, false, "").Evidence), verdict.AnchorsAnswers, verdict.Pass)
	status(t, anchorsProbe{}.Score(facts(2, 0, false, "").Evidence), verdict.AnchorsAnswers, verdict.Inconclusive)
	if o := (anchorsProbe{}).Score(newLab().Evidence); len(o.Findings) > 0 {
		t.Errorf("findings out of nothing: %+v", o.Findings)
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct{ n, want int }{{2, 3}, {3, 3}, {24, 6}} {
		if got := atLeast(c.n, 0.05, 1e-3); got != c.want {
			t.Errorf("of %d anchors %d are needed, want %d", c.n, got, c.want)
		}
	}
	if p := math.Pow(0.05, 3); p >= 1e-3 {
		t.Errorf("three of three by chance: %g", p)
	}
}

func TestAnchorsAgainstBaseline(t *testing.T) {
	for wrong, want := range map[int]verdict.Status{0: verdict.Pass, 2: verdict.Pass, 3: verdict.Fail} {
		o := anchorsProbe{}.Score(facts(24, wrong, true, "It was not.").Evidence)
		status(t, o, verdict.AnchorsAnswers, want)
		if got := len(find(o, verdict.AnchorsRegression)); got != wrong {
			t.Errorf("%d single answers reported, want %d", got, wrong)
		}
	}
}

func TestAnchorsNearTieIsLeftToTheGroup(t *testing.T) {
	l := newLab()
	l.put(verdict.Anchors, fact(1, "oslo"), 0, unsure(says("Who knows.")), unsure(says("Oslo, it is.")))
	b := l.Items[0]
	// The candidate's own list holds the baseline's token, a twentieth of a nat
	// behind: a near-tie.
	b.Reply.Tokens[0].Top[1].ID = ptr(says("Oslo, it is.").TokenIDs[0])
	if o := (anchorsProbe{}).Score(l.Evidence); len(find(o, verdict.AnchorsRegression)) > 0 {
		t.Errorf("a near-tie is reported as a regression: %+v", o.Findings)
	}
}

// The baseline's own margin counts too: a build that is sure of a wrong token
// where the baseline was sure of the right one is no near-tie, even if its list
// of alternatives doesn't tell.
func TestAnchorsSureBaseline(t *testing.T) {
	l := newLab()
	said := says("Who knows.")
	said.Tokens[0].Top = nil
	l.put(verdict.Anchors, fact(1, "oslo"), 0, said, says("Oslo, it is."))
	status(t, anchorsProbe{}.Score(l.Evidence), verdict.AnchorsRegression, verdict.Fail)
}

func TestAnchorsDamagedBehindTheModel(t *testing.T) {
	l := newLab()
	damaged := says("It is Oslo.")
	damaged.Text = "It is ????."
	l.put(verdict.Anchors, fact(1, "oslo"), 0, damaged, says("It is Oslo."))
	status(t, anchorsProbe{}.Score(l.Evidence), verdict.AnchorsRegression, verdict.Fail)
}

func TestAnchorsWithoutIDs(t *testing.T) {
	l := newLab()
	bare := says("salad")
	bare.TokenIDs, bare.Tokens = nil, nil
	l.put(verdict.Anchors, fact(1, "oslo"), 0, bare, says("It is Oslo."))
	status(t, anchorsProbe{}.Score(l.Evidence), verdict.AnchorsRegression, verdict.Fail)
	// Where neither side ever told ids, one changed answer proves nothing.
	l = newLab()
	plain := says("It is Oslo.")
	plain.TokenIDs, plain.Tokens = nil, nil
	l.put(verdict.Anchors, fact(1, "oslo"), 0, bare, plain)
	if o := (anchorsProbe{}).Score(l.Evidence); len(find(o, verdict.AnchorsRegression)) > 0 {
		t.Errorf("a change of wording is reported as a regression: %+v", o.Findings)
	}
}

func TestAnchorsStillThinking(t *testing.T) {
	l := facts(24, 0, false, "")
	thinking := says("")
	thinking.Reasoning, thinking.Text, thinking.FinishReason = "Let me think about", "", "length"
	l.put(verdict.Anchors, fact(99, "oslo"), 0, thinking, nil)
	o := anchorsProbe{}.Score(l.Evidence)
	if f := one(t, o, verdict.AnchorsAnswers); f.Measured != "24 of 24 (100 %)" {
		t.Errorf("measured %s", f.Measured)
	}
	if len(o.NotCovered) == 0 {
		t.Error("an answer cut in its reasoning is not listed as not covered")
	}
	// The answer may stand in the reasoning: it counts as text.
	thinking.Reasoning = "The capital is Oslo, so"
	if f := one(t, anchorsProbe{}.Score(l.Evidence), verdict.AnchorsAnswers); f.Measured != "25 of 25 (100 %)" {
		t.Errorf("measured %s", f.Measured)
	}
}
