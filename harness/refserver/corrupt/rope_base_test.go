package corrupt

import (
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
)

func TestRopeBase(t *testing.T) {
	everyType(t, "rope-base", func(t *testing.T, _, bad *gguf.File, r Result) {
		if base, ok, err := bad.Float("llama.rope.freq_base"); base != 500000 || !ok || err != nil {
			t.Errorf("the base is %g, %v, %v", base, ok, err)
		}
		if len(r.Changed) > 0 || !r.Header {
			t.Errorf("tensors %v changed, header %v", r.Changed, r.Header)
		}
	})
}

func TestRopeBaseAbsent(t *testing.T) {
	data := ggufedit.Rename(tinyBytes(t), "llama.rope.freq_base", "llama.rope.freq_bass")
	bad, _ := apply(t, "rope-base:base=100", data)
	if base, ok, err := parse(t, bad).Float("llama.rope.freq_base"); base != 100 || !ok || err != nil {
		t.Errorf("the base is %g, %v, %v", base, ok, err)
	}
	if distance(logits(t, data), logits(t, bad)) == 0 {
		t.Error("the added base changes nothing")
	}
	refused(t, "rope-base:base=10000", data, "is 10000 already") // by default
	refused(t, "rope-base:base=1e4", tinyBytes(t), "is 10000 already")
	refused(t, "rope-base:base=0", tinyBytes(t), "parameter base", "above 0")
}
