package fault

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/llama"
)

// With the attention of all layers lost, what came before the last token cannot
// matter, to the bit; healthy, it does.
func TestAttentionOutputLostForgetsTheContext(t *testing.T) {
	m := load(t, "attention-output-lost")
	a, b := next(m, slices.Concat(beginning1, end)), next(m, slices.Concat(beginning2, end))
	if !slices.Equal(a, b) {
		t.Error("different beginnings give different logits although attention is lost")
	}
	if s := spread(load(t)); s < 0.5 {
		t.Errorf("healthy: different beginnings differ by %.3f nats; the pair is too alike to test with", s)
	}
}

func TestAttentionOutputLostInHalfTheLayers(t *testing.T) {
	healthy := next(load(t), beginning1)
	half := load(t, "attention-output-lost:layers=half")
	if slices.Equal(next(half, beginning1), healthy) {
		t.Error("losing half the layers changes nothing")
	}
	if s := spread(half); s == 0 {
		t.Error("with two layers left, beginnings must still matter")
	}
}

func TestAttentionOutputLostBeyondTheModel(t *testing.T) {
	s, err := Parse("attention-output-lost:layers=3-4")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Install(&llama.Hooks{}, parseFile(t, tinyBytes(t)))
	wantError(t, err, "attention-output-lost:layers=3-4", "last layer is 3")
}
