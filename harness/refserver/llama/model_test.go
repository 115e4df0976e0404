package llama

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
)

// tinyFile is the reference model, in its fixture folder.
const tinyFile = "../../../fixtures/models/tiny/touchstone-tiny-f32.gguf"

func tinyBytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(tinyFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, data []byte) *gguf.File {
	t.Helper()
	f, err := gguf.Parse(data, "tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadTiny(t testing.TB, hooks *Hooks) *Model {
	t.Helper()
	m, err := Load(parse(t, tinyBytes(t)), hooks)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// inOrder lists the shards of all layers of the tiny model in another order.
func inOrder(data []byte, order ...Shard) []byte {
	for layer := range 4 {
		var names []string
		for _, s := range order {
			names = append(names, shardTensor(layer, s))
		}
		data = ggufedit.Order(data, names...)
	}
	return data
}

func TestConfigOfTiny(t *testing.T) {
	// models/README.md states these; the epsilon is a float32 in the file.
	want := Config{
		Vocab: 2048, Width: 128, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 32, FFN: 352, MaxContext: 1024,
		RopeDim: 32, RopeBase: 10000, RMSEps: float64(float32(1e-5)), Tied: true,
	}
	if got := loadTiny(t, nil).Config(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestFileShardOrder(t *testing.T) {
	f := parse(t, tinyBytes(t))
	if got, want := FileShardOrder(f, 3), []Shard{ShardK, ShardV, ShardQ}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q, the order of the founding file", got, want)
	}
	if got := FileShardOrder(f, 4); len(got) != 0 {
		t.Errorf("layer 4 does not exist, got %q", got)
	}
}

// TestTensorOrderChangesNothing: a healthy loader lays shards by name.
func TestTensorOrderChangesNothing(t *testing.T) {
	want := forwardPrompt(loadTiny(t, nil))
	for _, order := range [][]Shard{{ShardQ, ShardK, ShardV}, {ShardV, ShardQ, ShardK}} {
		f := parse(t, inOrder(tinyBytes(t), order...))
		if got := FileShardOrder(f, 0); !slices.Equal(got, order) {
			t.Fatalf("the edited file lists %q, not %q", got, order)
		}
		m, err := Load(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := forwardPrompt(m); !slices.Equal(got, want) {
			t.Errorf("order %q: other logits", order)
		}
	}
}

// TestUntiedHeadNeedsEmbedding: a head does not stand in for an embedding.
func TestUntiedHeadNeedsEmbedding(t *testing.T) {
	_, err := Load(parse(t, ggufedit.Rename(tinyBytes(t), "token_embd.weight", "output.weight....")), nil)
	if err == nil || !strings.Contains(err.Error(), "token_embd.weight") {
		t.Errorf("got %v, want an error that names token_embd.weight", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	data := tinyBytes(t)
	for name, c := range map[string]struct {
		data []byte
		want []string
	}{
		"a missing key":        {ggufedit.Rename(data, "llama.block_count", "llama.block_kount"), []string{"llama.block_count", "missing"}},
		"heads not divisible":  {ggufedit.SetUint32(data, "llama.attention.head_count_kv", 3), []string{"4 query heads", "3"}},
		"no heads":             {ggufedit.SetUint32(data, "llama.attention.head_count", 0), []string{"llama.attention.head_count", "0"}},
		"zero epsilon":         {ggufedit.SetFloat32(data, "llama.attention.layer_norm_rms_epsilon", 0), []string{"epsilon", "above 0"}},
		"odd rope dimension":   {ggufedit.SetUint32(data, "llama.rope.dimension_count", 31), []string{"dimension_count", "31", "even"}},
		"rope beyond the head": {ggufedit.SetUint32(data, "llama.rope.dimension_count", 64), []string{"dimension_count", "64"}},
		"another width":        {ggufedit.SetUint32(data, "llama.feed_forward_length", 353), []string{"ffn_", "353", "352"}},
		"missing tensor":       {ggufedit.Rename(data, "blk.2.attn_v.weight", "blk.2.attn_z.weight"), []string{"blk.2.attn_v.weight"}},
		"unknown tensor":       {ggufedit.SetUint32(data, "llama.block_count", 3), []string{"9 tensors", "blk.3.", "ignored"}},
		"rope scaling":         {ggufedit.AddString(data, "llama.rope.scaling.type", "yarn"), []string{"rope.scaling.type", "yarn"}},
		"linear scaling":       {ggufedit.AddFloat32(data, "llama.rope.scale_linear", 4), []string{"scale_linear", "4"}},
		"experts":              {ggufedit.AddUint32(data, "llama.expert_count", 8), []string{"expert_count", "8"}},
		"another value length": {ggufedit.AddUint32(data, "llama.attention.value_length", 16), []string{"value_length", "16", "32"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(parse(t, c.data), nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(c.want, "tiny.gguf") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %q", err, want)
				}
			}
		})
	}
}

func TestLoadTakesNeutralMetadata(t *testing.T) {
	data := tinyBytes(t)
	for name, edited := range map[string][]byte{
		"no scaling":   ggufedit.AddString(data, "llama.rope.scaling.type", "none"),
		"no experts":   ggufedit.AddUint32(data, "llama.expert_count", 0),
		"value length": ggufedit.AddUint32(data, "llama.attention.value_length", 32),
	} {
		if _, err := Load(parse(t, edited), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQKVOrderHook(t *testing.T) {
	var seen []string
	hooks := &Hooks{QKVOrder: func(layer int, file []Shard) []Shard {
		seen = append(seen, fmt.Sprint(layer, file))
		return []Shard{ShardQ, ShardK, ShardV}
	}}
	m := loadTiny(t, hooks)
	if want := []string{"0 [k v q]", "1 [k v q]", "2 [k v q]", "3 [k v q]"}; !slices.Equal(seen, want) {
		t.Errorf("the hook saw %q, want %q", seen, want)
	}
	healthy := forwardPrompt(loadTiny(t, nil))
	if !slices.Equal(forwardPrompt(m), healthy) {
		t.Error("the canonical order changes logits")
	}
	hooks.QKVOrder = func(_ int, file []Shard) []Shard { return file }
	if slices.Equal(forwardPrompt(loadTiny(t, hooks)), healthy) {
		t.Error("the order of the file does not change logits")
	}
	for _, bad := range [][]Shard{nil, {ShardQ, ShardK}, {ShardQ, ShardK, ShardK}, {ShardQ, ShardK, "x"}} {
		_, err := Load(parse(t, tinyBytes(t)), &Hooks{QKVOrder: func(int, []Shard) []Shard { return bad }})
		if err == nil {
			t.Errorf("order %q is taken", bad)
		}
	}
}
