package corrupt

import (
	"bytes"
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
)

func TestRowsByRank(t *testing.T) {
	everyType(t, "rows-by-rank", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		if len(r.Changed) != 20 {
			t.Errorf("%d tensors changed, want 5 of 4 layers", len(r.Changed))
		}
		for _, name := range r.Changed {
			before := rowsOf(t, healthy, name)
			half := len(before) / 2
			if !slices.Equal(rowsOf(t, bad, name), slices.Concat(before[half:], before[:half])) {
				t.Errorf("the halves of %s have not changed places", name)
			}
		}
	})
	once, _ := apply(t, "rows-by-rank:part=ffn", tinyBytes(t))
	if twice, _ := apply(t, "rows-by-rank:part=ffn", once); !bytes.Equal(twice, tinyBytes(t)) {
		t.Error("with two ranks, swapped twice, the file is not the original")
	}
}

func TestRowsByRankSettings(t *testing.T) {
	bad, r := apply(t, "rows-by-rank:part=attention,ranks=4,take=first,layers=0", tinyBytes(t))
	if len(r.Changed) != 3 {
		t.Errorf("changed are %v, want Q, K and V of a layer", r.Changed)
	}
	before, after := rowsOf(t, parse(t, tinyBytes(t)), shard(0, "q")), rowsOf(t, parse(t, bad), shard(0, "q"))
	for i := range after {
		if after[i] != before[i%32] {
			t.Fatalf("row %d is not row %d of the first rank's 32", i, i%32)
		}
	}
	refused(t, "rows-by-rank:ranks=3", tinyBytes(t), "128 rows", "3 ranks")
	refused(t, "rows-by-rank:ranks=1", tinyBytes(t), "parameter ranks", "from 2")
	refused(t, "rows-by-rank:part=mlp", tinyBytes(t), "parameter part", "known: all, attention, ffn")
}
