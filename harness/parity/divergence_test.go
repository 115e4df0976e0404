package parity

import (
	"math"
	"testing"

	"touchstone/harness/exchange"
)

func ptr[T any](v T) *T { return &v }

func top(pairs ...float64) []exchange.Alternative {
	var out []exchange.Alternative
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, exchange.Alternative{ID: ptr(int(pairs[i])), Logprob: ptr(pairs[i+1])})
	}
	return out
}

func TestFirstDivergence(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want int
	}{
		{nil, nil, -1},
		{[]int{1, 2}, []int{1, 2}, -1},
		{[]int{1, 2}, []int{3, 2}, 0},
		{[]int{1, 2, 3}, []int{1, 2, 4}, 2},
		{[]int{1, 2}, []int{1, 2, 3}, 2},
		{nil, []int{1}, 0},
	} {
		if got := FirstDivergence(c.a, c.b); got != c.want {
			t.Errorf("FirstDivergence(%v, %v) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := FirstDivergence(c.b, c.a); got != c.want {
			t.Errorf("FirstDivergence(%v, %v) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

func TestTie(t *testing.T) {
	for _, c := range []struct {
		sigma *float64
		want  float64
	}{
		{nil, 0.25},
		{ptr(0.0), 0.25},
		{ptr(0.04), 0.25}, // 4√2 · 0.04 = 0.226
		{ptr(0.1), 0.4 * math.Sqrt2},
		{ptr(math.NaN()), 0.25},
	} {
		if got := Tie(c.sigma); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("Tie = %v, want %v", got, c.want)
		}
	}
	if got := Sigma(0.0025); math.Abs(got-0.1) > 1e-12 { // the table's σ of 0.1 has a KL of 0.0024
		t.Errorf("Sigma(0.0025) = %v, want 0.1", got)
	}
}

func TestCompare(t *testing.T) {
	one := func(id int, lp float64, list []exchange.Alternative) Sequence {
		return Sequence{IDs: []int{7, id}, Logprobs: []*float64{ptr(-0.1), ptr(lp)}, Top: [][]exchange.Alternative{nil, list}}
	}
	a := one(1, -0.60, top(1, -0.60, 2, -0.80, 3, -3)) // prefers 1 to 2 by 0.2
	for _, c := range []struct {
		name       string
		base, cand Sequence
		want       Divergence
	}{
		{"equal", a, a, Divergence{Index: -1}},
		{"both near a tie, the larger margin counts", a, one(2, -0.70, top(2, -0.70, 1, -0.80)),
			Divergence{Index: 1, Margin: ptr(0.2), Explained: true, Known: true}},
		{"the candidate is sure", a, one(2, -0.10, top(2, -0.10, 1, -3.1)),
			Divergence{Index: 1, Margin: ptr(3.0), Known: true}},
		{"the baseline's token is missing from the candidate's list", a, one(2, -0.05, top(2, -0.05, 4, -4.05)),
			Divergence{Index: 1, Margin: ptr(4.0), AtLeast: true, Known: true}},
		{"the baseline's token is censored in the candidate's list", a,
			one(2, -0.05, append(top(2, -0.05, 4, -4.05), exchange.Alternative{ID: ptr(1), Censored: true})),
			Divergence{Index: 1, Margin: ptr(4.0), AtLeast: true, Known: true}},
		{"the baseline's token is listed without a value", a,
			one(2, -0.05, append(top(2, -0.05, 4, -4.05), exchange.Alternative{ID: ptr(1)})),
			Divergence{Index: 1, Margin: ptr(0.2), AtLeast: true}},
		{"a bound under the tie decides nothing", a, one(2, -0.70, top(2, -0.70)),
			Divergence{Index: 1, Margin: ptr(0.2), AtLeast: true}},
		{"a silent candidate decides nothing", a, Sequence{IDs: []int{7, 2}},
			Divergence{Index: 1, Margin: ptr(0.2), AtLeast: true}},
		{"no log-probabilities at all", Sequence{IDs: []int{7, 1}}, Sequence{IDs: []int{7, 2}}, Divergence{Index: 1}},
		{"one stopped", a, Sequence{IDs: []int{7}}, Divergence{Index: 1}},
		{"a silent baseline, a sure candidate", Sequence{IDs: []int{7, 1}}, one(2, -0.10, top(2, -0.10, 1, -3.1)),
			Divergence{Index: 1, Margin: ptr(3.0), AtLeast: true, Known: true}},
	} {
		got := Compare(c.base, c.cand, Tie(nil))
		same := (got.Margin == nil) == (c.want.Margin == nil) &&
			(got.Margin == nil || math.Abs(*got.Margin-*c.want.Margin) < 1e-9)
		if !same || got.Index != c.want.Index || got.AtLeast != c.want.AtLeast ||
			got.Explained != c.want.Explained || got.Known != c.want.Known {
			t.Errorf("%s: %+v (margin %v), want %+v (margin %v)", c.name, got, show(got.Margin), c.want, show(c.want.Margin))
		}
	}
}

func show(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// Servers that name listed tokens by text only must not make a listed token
// look as if it were missing.
func TestCompareByText(t *testing.T) {
	text := func(s string, lp float64) exchange.Alternative {
		return exchange.Alternative{Text: s, Logprob: ptr(lp)}
	}
	a := Sequence{IDs: []int{1}, Logprobs: []*float64{ptr(-0.6)}, Texts: []string{" yes"},
		Top: [][]exchange.Alternative{{text(" yes", -0.6), text(" no", -0.7), text(" so", -4)}}}
	b := Sequence{IDs: []int{2}, Logprobs: []*float64{ptr(-0.6)}, Texts: []string{" no"},
		Top: [][]exchange.Alternative{{text(" no", -0.6), text(" yes", -0.65), text(" so", -4)}}}
	if d := Compare(a, b, 0.25); !d.Explained || math.Abs(*d.Margin-0.1) > 1e-9 {
		t.Errorf("%+v, want a near-tie of 0.1", d)
	}
	a.Texts, b.Texts = nil, nil
	if d := Compare(a, b, 0.25); d.Known || d.Margin != nil {
		t.Errorf("%+v: nothing names the tokens, so nothing is known", d)
	}
	// Two entries share the text: which one it is cannot be told.
	a.Texts, b.Texts = []string{" yes"}, []string{" no"}
	a.Top[0][2].Text = " no"
	if d := Compare(a, b, 0.25); d.Known || !d.AtLeast {
		t.Errorf("%+v: an ambiguous text was matched", d)
	}
}
