package corrupt

import (
	"encoding/binary"
	"math"
	"testing"

	"touchstone/harness/refserver/gguf"
)

// The noise is benign: in F32 it moves log-probabilities by much less than 1e-3
// nats. In the shorter types, whose last place is 2^-11 to 2^-10 of a number, it
// stays below one step of bfloat16 at a logit of 8 to 16, 0.0625 nats, which
// every engine with a bfloat16 head makes.
func TestULP(t *testing.T) {
	for typ, most := range map[gguf.Type]float64{gguf.F32: 1e-3, gguf.F16: 0.0625, gguf.Q8_0: 0.0625, gguf.Q4_1: 0.0625} {
		data := typed(t, all(typ))
		bad, r := apply(t, "ulp", data)
		if len(r.Changed) != r.Tensors {
			t.Errorf("%v: %d of %d tensors changed", typ, len(r.Changed), r.Tensors)
		}
		d := distance(logits(t, data), logits(t, bad))
		t.Logf("%v: %.2g nats", typ, d)
		if d == 0 || d > most {
			t.Errorf("%v: log-probabilities move by %g nats, want above 0 and at most %g", typ, d, most)
		}
	}
}

func TestULPIsOneStep(t *testing.T) {
	data := tinyBytes(t)
	bad, _ := apply(t, "ulp:seed=7", data)
	up, downwards := 0, 0
	before, after := raw(t, parse(t, data), "token_embd.weight"), raw(t, parse(t, bad), "token_embd.weight")
	for i := 0; i < len(before); i += 4 {
		a, b := binary.LittleEndian.Uint32(before[i:]), binary.LittleEndian.Uint32(after[i:])
		switch {
		case a&0x7fffffff == 0 && a == b:
		case b == a+1:
			up++
		case b == a-1:
			downwards++
		default:
			t.Fatalf("number %d went from bits %#x to %#x", i/4, a, b)
		}
	}
	// Of n fair draws, the share stays within 5 standard deviations, 5/(2√n).
	n := float64(up + downwards)
	if share := float64(up) / n; math.Abs(share-0.5) > 5/(2*math.Sqrt(n)) {
		t.Errorf("%d numbers went up, %d down", up, downwards)
	}
	if other, _ := apply(t, "ulp:seed=8", data); string(other) == string(bad) {
		t.Error("another seed gives the same file")
	}
}

func TestNeighbour(t *testing.T) {
	s, err := storedAs(gguf.Tensor{Type: gguf.F16})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bits       uint32
		away       bool
		want       uint32
		definition string
	}{
		{0x3c00, true, 0x3c01, "1 + 2^-10"},
		{0x3c00, false, 0x3bff, "1 − 2^-11"},
		{0xbc00, true, 0xbc01, "−1 − 2^-10"},
		{0x0000, true, 0x0000, "zero stays"},
		{0x8000, false, 0x8000, "negative zero stays"},
		{0x0001, false, 0x0002, "the least number does not become zero"},
		{0x7bff, true, 0x7bfe, "the largest number does not become infinite"},
		{0x7c00, false, 0x7c00, "infinity stays"},
		{0x7e00, true, 0x7e00, "NaN stays"},
	} {
		if got := s.neighbour(c.bits, c.away); got != c.want {
			t.Errorf("%s: the neighbour of %#04x is %#04x, want %#04x", c.definition, c.bits, got, c.want)
		}
	}
}
