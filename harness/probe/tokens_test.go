package probe

import (
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// counted is a lab of n good replies, each with its /tokenize count.
func counted(n int) lab {
	l := newLab()
	for i := range n {
		p := fact(i, "x")
		l.put(verdict.Anchors, p, 0, says("It is so, I think."), nil)
		l.put(verdict.Tokens, p, 0, &exchange.Reply{Count: ptr(3), TokenList: []int{1, 2, 3}, Done: true}, nil)
	}
	return l
}

func TestTokensHealthy(t *testing.T) {
	o := tokensProbe{}.Score(counted(5).Evidence)
	for _, c := range []string{verdict.TokensCompletion, verdict.TokensPrompt, verdict.TokensFinish, verdict.TokensText} {
		status(t, o, c, verdict.Pass)
	}
	if len(o.NotCovered) != 1 || o.NotCovered[0].Check != verdict.TokensBaseline {
		t.Errorf("not covered: %+v", o.NotCovered)
	}
}

func TestTokensFindings(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*exchange.Reply)
		check string
	}{
		"usage counts one more":   {func(r *exchange.Reply) { r.Usage.Completion++; r.Usage.Total++ }, verdict.TokensCompletion},
		"an id is lost":           {func(r *exchange.Reply) { r.TokenIDs = r.TokenIDs[1:] }, verdict.TokensCompletion},
		"a log-probability is":    {func(r *exchange.Reply) { r.Tokens = r.Tokens[1:] }, verdict.TokensCompletion},
		"prompt count":            {func(r *exchange.Reply) { r.Usage.Prompt++; r.Usage.Total++ }, verdict.TokensPrompt},
		"prompt ids":              {func(r *exchange.Reply) { r.PromptTokenIDs = []int{1, 2, 4} }, verdict.TokensPrompt},
		"no finish reason":        {func(r *exchange.Reply) { r.FinishReason = "" }, verdict.TokensFinish},
		"unknown finish reason":   {func(r *exchange.Reply) { r.FinishReason = "done" }, verdict.TokensFinish},
		"length before the limit": {func(r *exchange.Reply) { r.FinishReason = "length" }, verdict.TokensFinish},
		"more than the limit": {func(r *exchange.Reply) {
			r.Usage.Completion, r.Usage.Total = 51, 54
			r.TokenIDs, r.Tokens = nil, nil
		}, verdict.TokensFinish},
		"wrong total":          {func(r *exchange.Reply) { r.Usage.Total++ }, verdict.TokensFinish},
		"tokens without text":  {func(r *exchange.Reply) { r.Text = "" }, verdict.TokensFinish},
		"text that is damaged": {func(r *exchange.Reply) { r.Text = "It is so, I hink." }, verdict.TokensText},
	} {
		t.Run(name, func(t *testing.T) {
			l := counted(5)
			c.spoil(l.Items[4].Reply)
			fs := find(tokensProbe{}.Score(l.Evidence), c.check)
			if len(fs) == 0 || fs[0].Status != verdict.Fail || fs[0].Where != l.Items[4].Request.ID {
				t.Errorf("findings: %+v", fs)
			}
		})
	}
}

func TestTokensConventionsAreNoFinding(t *testing.T) {
	for name, spoil := range map[string]func(*exchange.Reply){
		"EOS is counted and not named":         func(r *exchange.Reply) { r.Usage.Completion++; r.Usage.Total++ },
		"EOS is named and not counted":         func(r *exchange.Reply) { r.Usage.Completion--; r.Usage.Total-- },
		"EOS has an id and no log-probability": func(r *exchange.Reply) { r.TokenIDs = append(r.TokenIDs, 2); r.Usage.Completion++; r.Usage.Total++ },
	} {
		t.Run(name, func(t *testing.T) {
			l := counted(5)
			for _, it := range l.Items {
				if it.Request.Probe == string(verdict.Anchors) {
					spoil(it.Reply)
				}
			}
			status(t, tokensProbe{}.Score(l.Evidence), verdict.TokensCompletion, verdict.Pass)
			spoil(l.Items[4].Reply) // twice at one place is no convention
			if fs := find(tokensProbe{}.Score(l.Evidence), verdict.TokensCompletion); fs[0].Status != verdict.Fail {
				t.Errorf("findings: %+v", fs)
			}
		})
	}
}

func TestTokensBaseline(t *testing.T) {
	l := newLab()
	double := says("Yes.")
	double.PromptTokenIDs, double.Usage.Prompt, double.Usage.Total = []int{1, 1, 2, 3}, 4, 6
	l.put(verdict.Anchors, fact(1, "x"), 0, double, says("Yes."))
	l.put(verdict.Anchors, fact(2, "x"), 0, says("Yes."), says("Yes."))
	f := one(t, tokensProbe{}.Score(l.Evidence), verdict.TokensBaseline)
	if f.Status != verdict.Fail || f.Where != "anchors/fact-01" {
		t.Errorf("a double BOS is not found: %+v", f)
	}
	// A prompt that was changed since is no regression.
	l.answers["anchors/fact-01"].Hash = "other"
	status(t, tokensProbe{}.Score(l.Evidence), verdict.TokensBaseline, verdict.Pass)
}

func TestTokensNothingToCount(t *testing.T) {
	l := newLab()
	bare := &exchange.Reply{Text: "Yes.", FinishReason: "stop"}
	l.put(verdict.Coherence, fixture.Prompt{ID: "p", User: "u"}, 0, bare, nil)
	o := tokensProbe{}.Score(l.Evidence)
	for _, f := range o.Findings {
		if f.Check != verdict.TokensFinish {
			t.Errorf("judged without data: %+v", f)
		}
	}
	if len(o.NotCovered) != 4 {
		t.Errorf("not covered: %+v", o.NotCovered)
	}
}

// llama-server gives one log-probability entry to a character that several
// tokens spell; usage counts the tokens.
func TestTokensMergedCharacters(t *testing.T) {
	l := counted(5)
	r := says("山 水")
	r.TokenIDs = r.TokenIDs[:2] // told by the entries
	r.Usage.Completion, r.Usage.Total = 6, 9
	l.put(verdict.Coherence, fixture.Prompt{ID: "han", User: "u"}, 0, r, nil)
	status(t, tokensProbe{}.Score(l.Evidence), verdict.TokensCompletion, verdict.Pass)
	// Two characters of three bytes and a blank are at most seven tokens.
	r.Usage.Completion, r.Usage.Total = 8, 11
	if fs := find(tokensProbe{}.Score(l.Evidence), verdict.TokensCompletion); fs[0].Status != verdict.Fail {
		t.Errorf("findings: %+v", fs)
	}
}
