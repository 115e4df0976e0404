package parity

import (
	"math"
	"testing"
)

func TestDelta(t *testing.T) {
	base := []Sequence{
		{IDs: []int{1, 2, 3}, Logprobs: []*float64{ptr(-1.0), nil, ptr(-2.0)}},
		{IDs: []int{1, 2, 3}, Logprobs: []*float64{ptr(-1.0), ptr(-1.0), ptr(-9.0)}},
	}
	cand := []Sequence{
		{IDs: []int{1, 2, 3}, Logprobs: []*float64{ptr(-1.1), ptr(-1.0), ptr(-1.7)}},
		{IDs: []int{1, 2, 4}, Logprobs: []*float64{ptr(-1.0), ptr(-1.2), ptr(-1.0)}},
	}
	// −0.1, (null), +0.3; 0, −0.2, and nothing from the first difference on.
	d := Delta(base, cand)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"n", float64(d.N), 4},
		{"bias", d.Bias, 0},
		{"mean", d.Mean, 0.15},
		{"rms", d.RMS, math.Sqrt(0.14 / 4)},
		{"p99", d.P99, 0.2 + 0.97*0.1}, // position 2.97 of 0, 0.1, 0.2, 0.3
		{"max", d.Max, 0.3},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
	if Delta(base, []Sequence{{IDs: []int{9}}}) != nil {
		t.Error("nothing in common has deltas")
	}
}
