package corrupt

import (
	"bytes"
	"testing"

	"touchstone/harness/refserver/gguf"
)

func TestGateUpSwap(t *testing.T) {
	everyType(t, "gate-up-swap", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		if len(r.Changed) != 8 {
			t.Errorf("%d tensors changed, want gate and up of 4 layers", len(r.Changed))
		}
		for layer := range 4 {
			gate, up := blk(layer, "ffn_gate.weight"), blk(layer, "ffn_up.weight")
			if !bytes.Equal(raw(t, bad, gate), raw(t, healthy, up)) || !bytes.Equal(raw(t, bad, up), raw(t, healthy, gate)) {
				t.Errorf("layer %d: gate and up have not changed places", layer)
			}
		}
	})
	once, _ := apply(t, "gate-up-swap:layers=1-2", tinyBytes(t))
	if twice, _ := apply(t, "gate-up-swap:layers=1-2", once); !bytes.Equal(twice, tinyBytes(t)) {
		t.Error("swapped twice, the file is not the original")
	}
	refused(t, "gate-up-swap", typed(t, func(tensor string) gguf.Type {
		if tensor == "blk.0.ffn_up.weight" {
			return gguf.Q8_0
		}
		return gguf.F16
	}), "blk.0.ffn_gate.weight is F16", "blk.0.ffn_up.weight is Q8_0", "one type throughout")
}
