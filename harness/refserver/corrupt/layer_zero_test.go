package corrupt

import (
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver/gguf"
)

func TestLayerZero(t *testing.T) {
	everyType(t, "layer-zero:layers=2", func(t *testing.T, _, bad *gguf.File, r Result) {
		if len(r.Changed) != 9 {
			t.Errorf("%d tensors changed, want all 9 of a layer", len(r.Changed))
		}
		for _, name := range r.Changed {
			if !strings.HasPrefix(name, "blk.2.") {
				t.Errorf("%s changed", name)
			}
			wantZero(t, bad, name)
		}
	})
}

// A model whose layers add nothing sees its last token alone.
func TestLayerZeroAddsNothing(t *testing.T) {
	bad, _ := apply(t, "layer-zero:layers=all", tinyBytes(t))
	last := prompt[len(prompt)-1]
	if !slices.Equal(logits(t, bad), logitsAfter(t, bad, []int32{last})) {
		t.Error("what stands before the last token changes the logits")
	}
	if slices.Equal(logits(t, bad), logitsAfter(t, bad, []int32{last + 1})) {
		t.Error("the last token does not change the logits")
	}
}
