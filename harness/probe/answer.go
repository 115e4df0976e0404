package probe

import (
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/parity"
)

// answer returns what a reader of the baseline's answer would see, in the same
// form as exchange.Reply.Answer.
func answer(a *fixture.Answer) string {
	return (&exchange.Reply{Text: a.Text, Reasoning: a.Reasoning}).Answer()
}

// alternatives is a recorded distribution in the form of a fresh one.
func alternatives(as []fixture.Alternative) []exchange.Alternative {
	out := make([]exchange.Alternative, len(as))
	for i, a := range as {
		out[i] = exchange.Alternative{ID: a.ID, Text: a.Text, Logprob: a.Logprob}
	}
	return out
}

// Recorded is the baseline's answer as a sequence. A baseline keeps the margin
// between the two likeliest tokens of each position instead of whole lists: the
// second one stands here under an id that no token has, which bounds every
// other token from above.
func Recorded(a *fixture.Answer) parity.Sequence {
	s := parity.Sequence{IDs: a.TokenIDs, Logprobs: a.Logprobs}
	for i, lp := range a.Logprobs {
		var top []exchange.Alternative
		if lp != nil && i < len(a.Margins) && a.Margins[i] != nil {
			second := *lp - *a.Margins[i]
			top = []exchange.Alternative{{ID: &someOther, Logprob: &second}}
		}
		s.Top = append(s.Top, top)
	}
	return s
}

// replied is a reply as a sequence. Where token ids come with the
// log-probabilities alone (llama.cpp), they are taken from there.
func replied(r *exchange.Reply) parity.Sequence {
	s := parity.Sequence{IDs: r.TokenIDs}
	for _, t := range r.Tokens {
		s.Logprobs = append(s.Logprobs, t.Logprob)
		s.Top = append(s.Top, t.Top)
		if r.TokenIDs == nil && t.ID != nil {
			s.IDs = append(s.IDs, *t.ID)
		}
	}
	return s
}

// someOther is the id of a token of which only the log-probability is known.
var someOther = -1
