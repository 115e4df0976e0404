package fault

import (
	"fmt"
	"slices"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/llama"
)

// qkvShardOrder is the second founding fault (F02 of the report list): the
// loader concatenated the shards of a fused matrix in the order in which the
// GGUF file lists them, while the forward pass reads Q, K and V at fixed places.
// The fix in vLLM was sorted(shard_id).
func qkvShardOrder() Fault {
	return Fault{
		Name:    "qkv-shard-order",
		Kind:    Answers,
		Summary: "the shards of the fused QKV matrix are concatenated in the order in which the file lists them",
		Reports: []string{
			"sgl-project/sglang#24321", "vllm-project/vllm#12364", "vllm-project/vllm#41057",
			"vllm-project/vllm#57508", "vllm-project/vllm#8017",
		},
		Finding: "anchors.answers",
		Params:  []Param{spec.Layers("all")},
		install: installQKVShardOrder,
	}
}

func installQKVShardOrder(h *llama.Hooks, f *gguf.File, values map[string]string) error {
	config, err := llama.ReadConfig(f)
	if err != nil {
		return err
	}
	first, last, err := spec.LayerRange(values["layers"], config.Layers)
	if err != nil {
		return err
	}
	canonical := []llama.Shard{llama.ShardQ, llama.ShardK, llama.ShardV}
	effect := false
	for layer := first; layer <= last; layer++ {
		effect = effect || !slices.Equal(llama.FileShardOrder(f, layer), canonical)
	}
	if !effect {
		return fmt.Errorf("%s lists q, k and v in this order in layers %d to %d, so nothing would go wrong; "+
			"use a file with another order, such as the embedded tiny model", f.Name(), first, last)
	}
	earlier := h.QKVOrder
	h.QKVOrder = func(layer int, file []llama.Shard) []llama.Shard {
		switch {
		case layer >= first && layer <= last:
			return file
		case earlier != nil:
			return earlier(layer, file)
		}
		return canonical
	}
	return nil
}
