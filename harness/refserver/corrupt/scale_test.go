package corrupt

import (
	"testing"

	"touchstone/harness/refserver/gguf"
)

const down = "blk.0.ffn_down.weight"

// A factor of 16 is exact in every type, as long as nothing overflows. In Q4_1
// the minimum is no scale and stays: x = d·q + m becomes 16·(x − m) + m, and an
// element that is its block's minimum stays.
func TestScale(t *testing.T) {
	everyType(t, "scale", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		before, after := numbers(t, healthy, down), numbers(t, bad, down)
		if len(r.Changed) != 1 || r.Changed[0] != down {
			t.Errorf("changed are %v", r.Changed)
		}
		d, err := healthy.Tensor(down)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i := range before {
			want := 16 * before[i]
			if d.Type == gguf.Q4_1 {
				m := gguf.Float16(uint16(raw(t, healthy, down)[i/32*20+2]) | uint16(raw(t, healthy, down)[i/32*20+3])<<8)
				if i >= 32*20 { // a few blocks will do: Raw copies the tensor each time
					break
				}
				want = 16*(before[i]-m) + m
			}
			if diff := after[i] - want; diff > 1e-5 || diff < -1e-5 {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%d numbers are not 16 times what they were", wrong)
		}
	})
}

func TestScaleSettings(t *testing.T) {
	bad, _ := apply(t, "scale:tensor=blk.3.attn_k.weight,factor=-2,every=3", tinyBytes(t))
	before, after := numbers(t, parse(t, tinyBytes(t)), "blk.3.attn_k.weight"), numbers(t, parse(t, bad), "blk.3.attn_k.weight")
	for i := range before {
		want := before[i]
		if i/32%3 == 0 {
			want *= -2
		}
		if after[i] != want {
			t.Fatalf("element %d is %g, want %g", i, after[i], want)
		}
	}
	refused(t, "scale:factor=1", tinyBytes(t), "changes nothing")
	refused(t, "scale:factor=1e9", typed(t, all(gguf.F16)), down, "beyond the largest number")
	refused(t, "scale:factor=much", tinyBytes(t), "parameter factor", `"much"`)
	refused(t, "scale:factor=NaN", tinyBytes(t), "parameter factor")
	refused(t, "scale:tensor=blk.0.ffn_dwn.weight", tinyBytes(t), `no tensor "blk.0.ffn_dwn.weight"`, `did you mean "blk.0.ffn_down.weight"`)
}

func numbers(t *testing.T, f *gguf.File, tensor string) []float32 {
	t.Helper()
	x, _, err := f.Float32(tensor)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
