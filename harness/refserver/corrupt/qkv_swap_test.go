package corrupt

import (
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
)

func shard(layer int, s string) string { return blk(layer, "attn_"+s+".weight") }

func TestQKVSwap(t *testing.T) {
	everyType(t, "qkv-swap", func(t *testing.T, healthy, bad *gguf.File, r Result) {
		if len(r.Changed) != 12 {
			t.Errorf("%d tensors changed, want Q, K and V of 4 layers", len(r.Changed))
		}
		for layer := range 4 {
			read := slices.Concat(rowsOf(t, bad, shard(layer, "q")), rowsOf(t, bad, shard(layer, "k")), rowsOf(t, bad, shard(layer, "v")))
			laid := slices.Concat(rowsOf(t, healthy, shard(layer, "k")), rowsOf(t, healthy, shard(layer, "v")), rowsOf(t, healthy, shard(layer, "q")))
			if !slices.Equal(read, laid) {
				t.Errorf("layer %d: what is read as Q, K, V is not K, V, Q", layer)
			}
		}
	})
}

// The file lists K and V before Q, so the reference server's own fault, in its
// loader, must compute the very same numbers from the healthy file.
func TestQKVSwapIsTheLoadersFault(t *testing.T) {
	for _, params := range []string{"", ":layers=half", ":layers=2-3"} {
		bad, _ := apply(t, "qkv-swap"+params, tinyBytes(t))
		if !slices.Equal(logits(t, bad), logits(t, tinyBytes(t), "qkv-shard-order"+params)) {
			t.Errorf("qkv-swap%s and the fault qkv-shard-order compute different logits", params)
		}
	}
}

func TestQKVSwapOtherOrder(t *testing.T) {
	bad, r := apply(t, "qkv-swap:order=qvk,layers=1", tinyBytes(t))
	healthy, f := parse(t, tinyBytes(t)), parse(t, bad)
	// K and V have one size here, so they change places and Q stays.
	if want := []string{shard(1, "k"), shard(1, "v")}; !slices.Equal(slices.Sorted(slices.Values(r.Changed)), want) {
		t.Errorf("changed are %v, want %v", r.Changed, want)
	}
	if !slices.Equal(rowsOf(t, f, shard(1, "k")), rowsOf(t, healthy, shard(1, "v"))) {
		t.Error("K is not V")
	}
}

// With latent attention the fused matrix has two shards.
func TestQKVSwapLatent(t *testing.T) {
	data := ggufedit.Rename(tinyBytes(t), shard(2, "q"), "blk.2.attn_q_a.weight")
	data = ggufedit.Rename(data, shard(2, "k"), "blk.2.attn_kv_a_mqa.weight")
	bad, _ := apply(t, "qkv-swap:layers=2", data)
	healthy, f := parse(t, data), parse(t, bad)
	read := slices.Concat(rowsOf(t, f, "blk.2.attn_q_a.weight"), rowsOf(t, f, "blk.2.attn_kv_a_mqa.weight"))
	laid := slices.Concat(rowsOf(t, healthy, "blk.2.attn_kv_a_mqa.weight"), rowsOf(t, healthy, "blk.2.attn_q_a.weight"))
	if !slices.Equal(read, laid) {
		t.Error("what is read as [Q; KV] is not [KV; Q]")
	}
	refused(t, "qkv-swap:layers=2,order=vkq", data, "latent attention", "order=kvq")
}

func TestQKVSwapRefused(t *testing.T) {
	mixed := typed(t, func(tensor string) gguf.Type {
		if tensor == shard(3, "v") {
			return gguf.Q8_0
		}
		return gguf.Q4_1
	})
	refused(t, "qkv-swap", mixed, "different row formats", "blk.3.attn_v.weight: Q8_0", "blk.3.attn_q.weight: Q4_1", "one type throughout")
	apply(t, "qkv-swap:layers=0-2", mixed) // those layers are of one type
	refused(t, "qkv-swap:order=qkv", tinyBytes(t), "order", "qkv", "known: kvq")
	refused(t, "qkv-swap:layers=4", tinyBytes(t), "layers 4", "last layer is 3")
	refused(t, "qkv-swap:layers=0", ggufedit.Rename(tinyBytes(t), shard(0, "q"), "blk.0.attn_x.weight"), "no attn_q, attn_k and attn_v", "layers 0 to 0")
}
