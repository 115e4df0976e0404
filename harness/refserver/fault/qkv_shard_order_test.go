package fault

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/llama"
)

// Misplaced weights compute nonsense from the context, but from the context:
// that is what tells this fault from lost attention.
func TestQKVShardOrderKeepsTheContext(t *testing.T) {
	healthy := next(load(t), beginning1)
	for _, spec := range []string{"qkv-shard-order", "qkv-shard-order:layers=half", "qkv-shard-order:layers=2-3"} {
		m := load(t, spec)
		if slices.Equal(next(m, beginning1), healthy) {
			t.Errorf("%s: changes nothing", spec)
		}
		if s := spread(m); s < 0.5 {
			t.Errorf("%s: different beginnings differ by %.3f nats only", spec, s)
		}
	}
}

func TestQKVShardOrderWithoutEffectIsRefused(t *testing.T) {
	s, err := Parse("qkv-shard-order")
	if err != nil {
		t.Fatal(err)
	}
	var hooks llama.Hooks
	err = s.Install(&hooks, parseFile(t, qkvInOrder(tinyBytes(t))))
	wantError(t, err, "qkv-shard-order", "tiny.gguf", "q, k and v in this order", "use a file")
	if hooks.QKVOrder != nil {
		t.Error("the refused fault was installed")
	}
}
