package llama

import (
	"fmt"
	"slices"

	"touchstone/harness/refserver/gguf"
)

// shards is the canonical order, which the forward pass reads.
var shards = []Shard{ShardQ, ShardK, ShardV}

func shardTensor(layer int, s Shard) string {
	return fmt.Sprintf("blk.%d.attn_%s.weight", layer, s)
}

// FileShardOrder returns the shards of a layer's fused QKV matrix in the order
// in which the file lists them. A shard that the file lacks is left out.
func FileShardOrder(f *gguf.File, layer int) []Shard {
	byName := map[string]Shard{}
	for _, s := range shards {
		byName[shardTensor(layer, s)] = s
	}
	var order []Shard
	for _, t := range f.Tensors() {
		if s, ok := byName[t.Name]; ok {
			order = append(order, s)
		}
	}
	return order
}

// fusedQKV lays the shards of a layer into one matrix, by shard and not by the
// order of the file, unless the hook says otherwise. The forward pass reads Q,
// K and V at fixed columns: vLLM's QKVParallelLinear does the same, and
// vllm#41057 is what happens when the loader follows the file.
func (l *loader) fusedQKV(i int, c Config, hook func(int, []Shard) []Shard) *matrix {
	order := shards
	if hook != nil {
		order = hook(i, FileShardOrder(l.f, i))
	}
	rows := map[Shard]int{ShardQ: c.QWidth(), ShardK: c.KVWidth(), ShardV: c.KVWidth()}
	fused := make([]float32, 0, (c.QWidth()+2*c.KVWidth())*c.Width)
	for _, s := range order {
		fused = append(fused, l.tensor(shardTensor(i, s), rows[s], c.Width)...)
	}
	for _, s := range shards {
		if l.err == nil && (len(order) != len(shards) || !slices.Contains(order, s)) {
			l.err = fmt.Errorf("layer %d: the QKVOrder hook returned the shards %q; it must return q, k and v once each", i, order)
		}
	}
	if l.err != nil {
		return nil
	}
	return &matrix{in: c.Width, out: len(fused) / c.Width, w: fused}
}
