package corrupt

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/token"
)

func vocabulary(t *testing.T, f *gguf.File) []string {
	t.Helper()
	tokens, ok, err := f.Strings("tokenizer.ggml.tokens")
	if !ok || err != nil {
		t.Fatalf("no vocabulary: %v", err)
	}
	return tokens
}

// moved counts the tokens in other places, and checks that they moved in pairs.
func moved(t *testing.T, before, after []string) int {
	t.Helper()
	n := 0
	for i := range before {
		if j := slices.Index(before, after[i]); j != i {
			n++
			if j < 0 || after[j] != before[i] {
				t.Errorf("token %d did not change places with one other", i)
			}
		}
	}
	return n
}

func TestVocabSwap(t *testing.T) {
	bad, r := apply(t, "vocab-swap", tinyBytes(t))
	healthy, f := parse(t, tinyBytes(t)), parse(t, bad)
	if len(r.Changed) > 0 || !r.Header {
		t.Errorf("tensors %v changed, header %v", r.Changed, r.Header)
	}
	before, after := vocabulary(t, healthy), vocabulary(t, f)
	// 2,048 tokens, the first 6 of which are special.
	if n := moved(t, before, after); n != 2042 || !slices.Equal(before[:6], after[:6]) {
		t.Errorf("%d tokens moved, want 2042; the special ones are %q", n, after[:6])
	}
	if _, err := token.New(f); err != nil {
		t.Errorf("the copy has no tokenizer: %v", err)
	}
	logits(t, bad) // the copy loads
	few, _ := apply(t, "vocab-swap:pairs=3", tinyBytes(t))
	if n := moved(t, before, vocabulary(t, parse(t, few))); n != 6 {
		t.Errorf("3 pairs move %d tokens", n)
	}
	other, _ := apply(t, "vocab-swap:pairs=3,seed=2", tinyBytes(t))
	if slices.Equal(few, other) {
		t.Error("another seed gives the same file")
	}
	refused(t, "vocab-swap:pairs=1022", tinyBytes(t), "pairs=1022", "2042 ordinary tokens, 1021 pairs")
	refused(t, "vocab-swap:seed=-1", tinyBytes(t), "parameter seed", "whole number")
}
