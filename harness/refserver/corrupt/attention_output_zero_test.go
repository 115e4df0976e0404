package corrupt

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
)

func TestAttentionOutputZero(t *testing.T) {
	everyType(t, "attention-output-zero", func(t *testing.T, _, bad *gguf.File, r Result) {
		if len(r.Changed) != 4 {
			t.Errorf("changed are %v, want the output projection of 4 layers", r.Changed)
		}
		for _, name := range r.Changed {
			wantZero(t, bad, name)
		}
	})
}

// An engine that loses the attention output computes the same: zero times the
// projection is zero, too.
func TestAttentionOutputZeroIsTheEnginesFault(t *testing.T) {
	for _, params := range []string{"", ":layers=half", ":layers=3"} {
		bad, _ := apply(t, "attention-output-zero"+params, tinyBytes(t))
		if !slices.Equal(logits(t, bad), logits(t, tinyBytes(t), "attention-output-lost"+params)) {
			t.Errorf("attention-output-zero%s and the fault attention-output-lost compute different logits", params)
		}
	}
}

func TestAttentionOutputZeroTwiceIsRefused(t *testing.T) {
	once, _ := apply(t, "attention-output-zero", tinyBytes(t))
	refused(t, "attention-output-zero:layers=half", once, "changes nothing about tiny.gguf", "healthy")
}

func wantZero(t *testing.T, f *gguf.File, tensor string) {
	t.Helper()
	x, _, err := f.Float32(tensor)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		if v != 0 {
			t.Fatalf("element %d of %s is %g, want 0", i, tensor, v)
		}
	}
}
