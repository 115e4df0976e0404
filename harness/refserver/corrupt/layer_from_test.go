package corrupt

import (
	"bytes"
	"strings"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
)

func TestLayerFrom(t *testing.T) {
	everyType(t, "layer-from", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		if len(r.Changed) != 9 {
			t.Errorf("%d tensors changed, want all 9 of a layer", len(r.Changed))
		}
		for _, name := range r.Changed {
			part, ok := strings.CutPrefix(name, "blk.1.")
			if !ok || !bytes.Equal(raw(t, bad, name), raw(t, healthy, "blk.3."+part)) {
				t.Errorf("%s is not that of layer 3", name)
			}
		}
	})
}

func TestLayerFromRefused(t *testing.T) {
	refused(t, "layer-from:layers=2,from=2", tinyBytes(t), "changes nothing")
	refused(t, "layer-from:from=4", tinyBytes(t), "from=4", "last layer is 3")
	refused(t, "layer-from:from=x", tinyBytes(t), "parameter from", `"x"`)
	refused(t, "layer-from", ggufedit.Rename(tinyBytes(t), "blk.3.ffn_up.weight", "blk.3.ffn_x.weight"), "layer 3 is built differently from layer 1", "blk.3.ffn_up.weight")
	refused(t, "layer-from", typed(t, func(tensor string) gguf.Type {
		if tensor == "blk.1.ffn_down.weight" {
			return gguf.Q8_0
		}
		return gguf.Q4_1
	}), "blk.1.ffn_down.weight is Q8_0", "blk.3.ffn_down.weight is Q4_1")
}
