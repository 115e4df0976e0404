package parity

import (
	"math"

	"touchstone/harness/exchange"
)

// Sequence is one generated answer. Logprobs, Top and Texts have one entry a
// token or are shorter where the server told less; nil means not told.
type Sequence struct {
	IDs      []int
	Logprobs []*float64               // of the generated tokens, in nats
	Top      [][]exchange.Alternative // the most likely tokens at each position
	Texts    []string                 // of the generated tokens; needed where Top names tokens by text only
}

// FirstDivergence returns the index of the first token in which a and b
// differ, and -1 where they are equal. Where one is the beginning of the other
// that is the length of the shorter one: it stopped and the other went on.
func FirstDivergence(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return n
	}
	return -1
}

// TieFloor is the margin in nats up to which a difference is always explained:
// two steps of bfloat16 at a logit between 16 and 32, where one is 0.125.
const TieFloor = 0.25

// Tie returns τ = max(0.25, 4√2·σ), the largest margin of a near-tie in nats,
// for noise of σ nats a logit as measured by A/A runs; nil where it was not
// measured. With noise that is normal and independent between logits, a benign
// difference has a larger margin once in 50,000 times (1.8e-5).
func Tie(sigma *float64) float64 {
	if sigma == nil || math.IsNaN(*sigma) {
		return TieFloor
	}
	return max(TieFloor, 4*math.Sqrt2**sigma)
}

// Sigma returns the noise a logit, in nats, that makes two runs of one build
// differ by a mean KL divergence of kl nats: σ ≈ 2√KL, since independent noise
// gives KL ≈ σ²/4 (measured between σ of 0.01 and 0.5 on a language model of
// 32,000 tokens with an entropy of 2.45 nats).
func Sigma(kl float64) float64 { return 2 * math.Sqrt(max(0, kl)) }

// Divergence is the first difference between two answers.
type Divergence struct {
	Index int // of the first token that differs; -1: none
	// Margin says how sure the builds were: the larger one of how much A
	// prefers its token to B's, and B its own to A's, in nats. It is nil where
	// the log-probabilities don't tell.
	Margin *float64
	// AtLeast says that Margin is a lower bound: one token is missing from the
	// other's list.
	AtLeast bool
	// Explained says that it is a near-tie: Margin is known, not only bounded,
	// and at most τ. It is false where Index is -1.
	Explained bool
	// Known says that Explained was decided. A bound at or under τ, or no
	// margin at all, decides nothing.
	Known bool
}

// Compare finds the first difference between the baseline's answer and the
// candidate's, and holds its margin against tie (see Tie):
//
//	m = max(ℓ_A(a) − ℓ_A(b), ℓ_B(b) − ℓ_B(a)), explained where m ≤ τ
//
// with a and b the two tokens and ℓ_A, ℓ_B the builds' log-probabilities. A
// token that is missing from a list of the most likely ones is at most as
// likely as the last on it, which bounds m from below. Both answers must have
// been generated greedily.
func Compare(base, cand Sequence, tie float64) Divergence {
	t := FirstDivergence(base.IDs, cand.IDs)
	d := Divergence{Index: t}
	if t < 0 || t >= len(base.IDs) || t >= len(cand.IDs) {
		return d // equal, or one stopped with a token that it did not name
	}
	a, b := base.token(t), cand.token(t)
	for _, m := range []margin{base.margin(t, a, b), cand.margin(t, b, a)} {
		if !m.known {
			d.AtLeast = true // the side that is silent could be the larger one
			continue
		}
		d.AtLeast = d.AtLeast || m.atLeast
		if d.Margin == nil || m.nats > *d.Margin {
			d.Margin = &m.nats
		}
	}
	if d.Margin == nil {
		d.AtLeast = false
		return d
	}
	above := *d.Margin > tie
	d.Known = above || !d.AtLeast
	d.Explained = d.Known && !above
	return d
}

// token is how a token can be found in a list: by id, or by text.
type token struct {
	id   int
	text *string
}

func (s Sequence) token(t int) token {
	x := token{id: s.IDs[t]}
	if t < len(s.Texts) {
		x.text = &s.Texts[t]
	}
	return x
}

// find returns the log-probability of x in a list. It is nil where x is not
// listed or listed without a value; sure says that x is less likely than all
// that are listed with one, since it is missing or censored, rather than
// hidden behind a null, or a text that is not told or that two entries share.
func find(top []exchange.Alternative, x token) (logprob *float64, sure bool) {
	found, censored := 0, false
	sure = true
	for _, alt := range top {
		switch {
		case alt.ID != nil:
			if *alt.ID == x.id {
				return alt.Logprob, alt.Logprob != nil || alt.Censored
			}
		case x.text == nil:
			sure = false
		case alt.Text == *x.text:
			found++
			logprob, censored = alt.Logprob, alt.Censored
		}
	}
	if found > 1 || found == 1 && logprob == nil && !censored {
		return nil, false
	}
	return logprob, sure
}

type margin struct {
	nats    float64
	atLeast bool
	known   bool
}

// margin returns by how much the sequence prefers its own token at t to other.
func (s Sequence) margin(t int, own, other token) margin {
	var top []exchange.Alternative
	if t < len(s.Top) {
		top = s.Top[t]
	}
	var lOwn *float64
	if t < len(s.Logprobs) {
		lOwn = s.Logprobs[t]
	}
	if lOwn == nil {
		lOwn, _ = find(top, own)
	}
	if lOwn == nil {
		return margin{}
	}
	lOther, sure := find(top, other)
	if lOther != nil {
		return margin{nats: *lOwn - *lOther, known: true}
	}
	least, has := math.Inf(1), false
	for _, alt := range top {
		if alt.Logprob != nil {
			least, has = min(least, *alt.Logprob), true
		}
	}
	if !sure || !has {
		return margin{}
	}
	return margin{nats: *lOwn - least, atLeast: true, known: true}
}
