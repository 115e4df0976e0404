package corrupt

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
)

// Two heads of four rows: reshape(2, 2, 2).swapaxes(1, 2) of 0 to 7.
func TestInterleaved(t *testing.T) {
	if got, want := interleaved(8, 2), []int{0, 2, 1, 3, 4, 6, 5, 7}; !slices.Equal(got, want) {
		t.Errorf("rows come from %v, want %v", got, want)
	}
}

// The tiny model has 4 query and 2 key-value heads. Taking its permutation back
// gives the rows as they were trained; the copy must be those rows, permuted
// with the other count.
func TestRowsByHead(t *testing.T) {
	everyType(t, "rows-by-head", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		if len(r.Changed) != 8 {
			t.Errorf("%d tensors changed, want Q and K of 4 layers", len(r.Changed))
		}
		for s, heads := range map[string][2]int{"q": {4, 2}, "k": {2, 4}} {
			file := rowsOf(t, healthy, shard(0, s))
			trained := make([]string, len(file))
			for r, from := range interleaved(len(file), heads[0]) {
				trained[from] = file[r]
			}
			var want []string
			for _, from := range interleaved(len(file), heads[1]) {
				want = append(want, trained[from])
			}
			if !slices.Equal(rowsOf(t, bad, shard(0, s)), want) {
				t.Errorf("the rows of attn_%s are not those of %d heads taken for %d", s, heads[0], heads[1])
			}
		}
	})
}

func TestRowsByHeadSettings(t *testing.T) {
	// The right number for Q is the wrong one for K.
	if _, r := apply(t, "rows-by-head:heads=4,layers=0", tinyBytes(t)); !slices.Equal(r.Changed, []string{shard(0, "k")}) {
		t.Errorf("heads=4 changes %v", r.Changed)
	}
	// As many key-value heads as query heads: half of them is wrong.
	same := ggufedit.SetUint32(tinyBytes(t), "llama.attention.head_count_kv", 4)
	if _, r := apply(t, "rows-by-head:layers=0", same); len(r.Changed) != 2 {
		t.Errorf("with equal counts, %v change", r.Changed)
	}
	// An architecture whose rows are not permuted: permuting them is the fault.
	data := ggufedit.SetUint32(ggufedit.AddUint32(tinyBytes(t), "qwen2.attention.head_count", 4), "qwen2.attention.head_count_kv", 2)
	data = ggufedit.AddString(data, "general.architecture", "qwen2")
	bad, _ := apply(t, "rows-by-head:layers=0", data)
	before, after := rowsOf(t, parse(t, data), shard(0, "k")), rowsOf(t, parse(t, bad), shard(0, "k"))
	for i, from := range interleaved(64, 4) {
		if after[i] != before[from] {
			t.Fatalf("row %d of K is not row %d", i, from)
		}
	}
}

func TestRowsByHeadRefused(t *testing.T) {
	refused(t, "rows-by-head:heads=5", tinyBytes(t), "can be cut into that many heads")
	refused(t, "rows-by-head:heads=0", tinyBytes(t), "parameter heads")
	refused(t, "rows-by-head", ggufedit.Rename(tinyBytes(t), "llama.attention.head_count", "llama.attention.heads"), "llama.attention.head_count is missing")
	refused(t, "rows-by-head", ggufedit.SetUint32(tinyBytes(t), "llama.attention.head_count", 3), "128 rows", "3 heads")
}
