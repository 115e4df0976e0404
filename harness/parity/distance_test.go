package parity

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"touchstone/harness/exchange"
)

func TestJSByHand(t *testing.T) {
	half, quarter, three := math.Log(0.5), math.Log(0.25), math.Log(0.75)
	// All mass listed, (½, ½) against (¾, ¼): with M = (0.625, 0.375),
	// ½·[½ln(.5/.625) + ½ln(.5/.375)] + ½·[¾ln(.75/.625) + ¼ln(.25/.375)].
	want := 0.5*(0.5*math.Log(0.8)+0.5*math.Log(4.0/3)) + 0.5*(0.75*math.Log(1.2)+0.25*math.Log(2.0/3))
	if got := JS(top(1, half, 2, half), top(1, three, 2, quarter)); math.Abs(got-want) > 1e-9 {
		t.Errorf("JS = %v, want %v", got, want)
	}
	// Two sure and different answers: all of ln 2, but for what may hide.
	got := JS(top(1, math.Log(0.999999)), top(2, math.Log(0.999999)))
	if got < math.Ln2-1e-4 || got > math.Ln2 {
		t.Errorf("JS of two certainties = %v, want nearly ln 2", got)
	}
	if got := JS(top(1, half), nil); got != 0 {
		t.Errorf("JS with nothing = %v, want 0", got)
	}
}

func TestKLByHand(t *testing.T) {
	half, quarter := math.Log(0.5), math.Log(0.25)
	// Listed: 0.5 against 0.25, so the rests are 0.5 and 0.75.
	want := 0.5*math.Log(2) + 0.5*math.Log(0.5/0.75)
	if got := KL(top(1, half), top(1, quarter)); math.Abs(got-want) > 1e-9 {
		t.Errorf("KL = %v, want %v", got, want)
	}
	// No token in common: each is at most as likely as the last one listed.
	if got := KL(top(1, math.Log(0.9), 2, math.Log(0.05)), top(3, math.Log(0.9), 4, math.Log(0.05))); got < 1 {
		t.Errorf("KL of lists with nothing in common = %v, want over 1", got)
	}
}

func TestListsByText(t *testing.T) {
	alt := func(s string, p float64) exchange.Alternative {
		return exchange.Alternative{Text: s, Logprob: ptr(math.Log(p))}
	}
	p := []exchange.Alternative{alt("a", 0.6), alt("�", 0.2), alt("�", 0.1)}
	q := []exchange.Alternative{alt("a", 0.6), alt("�", 0.3)}
	if got := JS(p, q); got > 1e-12 {
		t.Errorf("JS = %v: two halves of characters were matched by their text", got)
	}
	q[1].Logprob = nil
	if got := JS(p, q); got > 1e-12 {
		t.Errorf("JS = %v: a null was taken for a probability", got)
	}
	if Usable(nil) || Usable([]exchange.Alternative{{Text: "a"}}) || !Usable(p) {
		t.Error("Usable is wrong")
	}
}

// dist is a whole distribution over a small vocabulary.
type dist []float64

func genDist(label string, n int) *rapid.Generator[dist] {
	return rapid.Custom(func(t *rapid.T) dist {
		d := make(dist, n)
		sum := 0.0
		for i := range d {
			d[i] = math.Exp(rapid.Float64Range(-8, 4).Draw(t, label))
			sum += d[i]
		}
		for i := range d {
			d[i] /= sum
		}
		return d
	})
}

// topK lists the k most likely tokens, as a server would.
func (d dist) topK(k int) []exchange.Alternative {
	taken := make([]bool, len(d))
	var out []exchange.Alternative
	for range min(k, len(d)) {
		best := -1
		for i, p := range d {
			if !taken[i] && (best < 0 || p > d[best]) {
				best = i
			}
		}
		taken[best] = true
		out = append(out, exchange.Alternative{ID: ptr(best), Logprob: ptr(math.Log(d[best]))})
	}
	return out
}

func (d dist) kl(q dist) float64 {
	s := 0.0
	for i := range d {
		s += d[i] * math.Log(d[i]/q[i])
	}
	return s
}

func (d dist) js(q dist) float64 {
	m := make(dist, len(d))
	for i := range d {
		m[i] = (d[i] + q[i]) / 2
	}
	return (d.kl(m) + q.kl(m)) / 2
}

// TestDistancesAreBounds holds the bounds against the true distances of whole
// distributions.
func TestDistancesAreBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "vocabulary")
		p, q := genDist("p", n).Draw(t, "p"), genDist("q", n).Draw(t, "q")
		kp, kq := rapid.IntRange(1, n).Draw(t, "kp"), rapid.IntRange(1, n).Draw(t, "kq")
		a, b := p.topK(kp), q.topK(kq)
		js, kl := JS(a, b), KL(a, b)
		const eps = 1e-4 // restFloor, times the logarithm of a ratio
		if js < 0 || js > math.Ln2 || js > p.js(q)+eps {
			t.Fatalf("JS = %v, true %v", js, p.js(q))
		}
		if kl < 0 || kl > p.kl(q)+eps {
			t.Fatalf("KL = %v, true %v", kl, p.kl(q))
		}
		if back := JS(b, a); math.Abs(back-js) > 1e-12 {
			t.Fatalf("JS = %v one way and %v the other", js, back)
		}
		if JS(a, a) > 1e-12 || KL(a, a) > 1e-12 {
			t.Fatalf("a distribution differs from itself: JS %v, KL %v", JS(a, a), KL(a, a))
		}
		if kp == n && kq == n && (math.Abs(js-p.js(q)) > eps || math.Abs(kl-p.kl(q)) > eps) {
			t.Fatalf("all is listed, yet JS %v for %v and KL %v for %v", js, p.js(q), kl, p.kl(q))
		}
	})
}
