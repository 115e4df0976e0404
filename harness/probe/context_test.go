package probe

import (
	"fmt"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// surely is a reply whose first token is one with probability 0.9, another
// otherwise: ln 0.9 = −0.105, ln 0.1 = −2.303.
func surely(a, b int) *exchange.Reply {
	return &exchange.Reply{Text: "x", FinishReason: "length", Tokens: []exchange.Token{{Top: []exchange.Alternative{
		{ID: &a, Text: fmt.Sprint(a), Logprob: ptr(-0.105)}, {ID: &b, Text: fmt.Sprint(b), Logprob: ptr(-2.303)},
	}}}}
}

var (
	contextGroup = fixture.Prompt{ID: "ctx", Kind: fixture.KindContext, Context: &fixture.Context{}}
	controlGroup = fixture.Prompt{ID: "ctl", Kind: fixture.KindControl, Control: &fixture.Control{}}
)

func contextLab(ctx, ctl [2]*exchange.Reply) lab {
	l := newLab()
	for i := range 2 {
		l.put(verdict.Context, contextGroup, i+1, ctx[i], nil)
		l.put(verdict.Context, controlGroup, i+1, ctl[i], nil)
	}
	return l
}

func TestContext(t *testing.T) {
	// JS of (0.9, 0.1) and (0.1, 0.9) is ln 2 − H(0.9) = 0.693 − 0.325 = 0.368.
	differ := [2]*exchange.Reply{surely(1, 2), surely(2, 1)}
	same := [2]*exchange.Reply{surely(1, 2), surely(1, 2)}
	for name, c := range map[string]struct {
		ctx, ctl              [2]*exchange.Reply
		insensitive, constant verdict.Status
		cause                 string
	}{
		"healthy":         {differ, differ, verdict.Pass, verdict.Pass, ""},
		"attention lost":  {same, differ, verdict.Fail, verdict.Pass, verdict.CauseAttentionLost},
		"constant logits": {same, same, verdict.Fail, verdict.Fail, verdict.CauseConstantLogits},
	} {
		t.Run(name, func(t *testing.T) {
			o := contextProbe{}.Score(contextLab(c.ctx, c.ctl).Evidence)
			status(t, o, verdict.ContextInsensitive, c.insensitive)
			status(t, o, verdict.ContextConstant, c.constant)
			causes := verdict.Diagnose(o.Findings)
			if c.cause == "" && len(causes) > 0 || c.cause != "" && (len(causes) != 1 || causes[0].Cause != c.cause) {
				t.Errorf("named %v, want %q", causes, c.cause)
			}
		})
	}
}

func TestContextWithoutLogprobs(t *testing.T) {
	l := contextLab([2]*exchange.Reply{surely(1, 2), surely(2, 1)}, [2]*exchange.Reply{surely(1, 2), surely(2, 1)})
	l.Target.Capabilities[exchange.CapLogprobs] = exchange.Absent
	o := contextProbe{}.Score(l.Evidence)
	if len(o.Findings) > 0 || len(o.NotCovered) != 3 {
		t.Errorf("findings %+v, not covered %+v", o.Findings, o.NotCovered)
	}
}

func TestContextWeakerThanBaseline(t *testing.T) {
	l := newLab()
	// This build: (0.9, 0.1) against (0.7, 0.3); JS is 0.033 nats, over the
	// absolute limit, but under half of the baseline's 0.368.
	weak := surely(1, 2)
	weak.Tokens[0].Top[0].Logprob, weak.Tokens[0].Top[1].Logprob = ptr(-0.357), ptr(-1.204)
	l.put(verdict.Context, contextGroup, 1, surely(1, 2), surely(1, 2))
	l.put(verdict.Context, contextGroup, 2, weak, surely(2, 1))
	o := contextProbe{}.Score(l.Evidence)
	status(t, o, verdict.ContextWeak, verdict.Fail)
	status(t, o, verdict.ContextInsensitive, verdict.Pass)
	if causes := verdict.Diagnose(o.Findings); len(causes) > 0 {
		t.Errorf("a weaker context is taken for %v", causes)
	}
}

// Misplaced weights can make a model sure of one wrong token, whatever it
// reads: JS is next to nothing, and the logits behind it still move.
func TestContextSureOfTheWrongToken(t *testing.T) {
	sure := func(second float64) *exchange.Reply {
		r := surely(1, 2)
		r.Tokens[0].Top[0].Logprob, r.Tokens[0].Top[1].Logprob = ptr(-1e-5), ptr(second)
		return r
	}
	l := contextLab([2]*exchange.Reply{sure(-11.5), sure(-13)}, [2]*exchange.Reply{sure(-11.5), sure(-13)})
	o := contextProbe{}.Score(l.Evidence)
	status(t, o, verdict.ContextInsensitive, verdict.Pass)
	status(t, o, verdict.ContextWeak, verdict.Fail)
}

func TestSameAnswer(t *testing.T) {
	for same, want := range map[int]verdict.Status{1: verdict.Pass, 7: verdict.Pass, 8: verdict.Fail, 10: verdict.Fail} {
		l := newLab()
		for i := range 10 {
			text := fmt.Sprintf("This is answer %d.", i)
			if i < same {
				text = "The train leaves the home page."
			}
			l.put(verdict.Anchors, fact(i, "x"), 0, says(text), nil)
		}
		status(t, contextProbe{}.Score(l.Evidence), verdict.ContextSameAnswer, want)
	}
}
