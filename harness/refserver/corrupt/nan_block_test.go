package corrupt

import (
	"math"
	"testing"

	"touchstone/harness/refserver/gguf"
)

func TestNaNBlock(t *testing.T) {
	everyType(t, "nan-block:block=5", func(t *testing.T, healthy, bad *gguf.File, _ Result) {
		before, after := numbers(t, healthy, down), numbers(t, bad, down)
		for i := range after {
			if in := i/32 == 5; in != math.IsNaN(float64(after[i])) || !in && after[i] != before[i] {
				t.Fatalf("element %d is %g, was %g", i, after[i], before[i])
			}
		}
	})
}

// One block is enough: every token passes the tensor.
func TestNaNBlockReachesTheLogits(t *testing.T) {
	bad, _ := apply(t, "nan-block", tinyBytes(t))
	for i, v := range logits(t, bad) {
		if !math.IsNaN(float64(v)) {
			t.Fatalf("logit %d is %g, want NaN", i, v)
		}
	}
	refused(t, "nan-block:block=1408", tinyBytes(t), "block=1408", "last block of 32 is 1407") // 352 × 128 numbers
	refused(t, "nan-block:tensor=head", tinyBytes(t), `no tensor "head"`, "token_embd.weight")
}
