package corrupt

import (
	"fmt"
	"strings"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
)

// qkvSwap is the second founding fault (F02 of the report list) put into the
// file: a loader concatenated the shards of the fused matrix in another order
// than the one in which they are read. Here the shards are concatenated in that
// order, and what is read as Q, K and V is stored as such.
//
// With latent attention the fused matrix is [Q latent; KV latent], in vLLM
// fused_qkv_a_proj; there the founding build put KV first.
func qkvSwap() Fault {
	return Fault{
		Name:    "qkv-swap",
		Summary: "Q, K and V hold what a reader of the fused matrix finds when its shards were concatenated in another order",
		Reports: []string{"sgl-project/sglang#24321", "vllm-project/vllm#12364", "vllm-project/vllm#41057", "vllm-project/vllm#8017"},
		Params: []spec.Param{spec.Layers("all"),
			choice("order", "how the shards were concatenated; latent attention knows kvq alone", "kvq", "kqv", "qvk", "vkq", "vqk")},
		plan: planQKVSwap,
	}
}

func planQKVSwap(j *job) error {
	parts := map[byte]string{'q': "attn_q", 'k': "attn_k", 'v': "attn_v"}
	return j.eachLayer("attn_q, attn_k and attn_v (or attn_q_a and attn_kv_a_mqa)", func(layer int) (bool, error) {
		found := false
		for _, suffix := range weightAndBias {
			name := func(part string) string { return blk(layer, part+suffix) }
			read := j.tensors(name("attn_q"), name("attn_k"), name("attn_v"))
			var laid []gguf.Tensor
			for _, shard := range []byte(j.values["order"]) {
				laid = append(laid, j.tensors(name(parts[shard]))...)
			}
			if latent := j.tensors(name("attn_q_a"), name("attn_kv_a_mqa")); latent != nil {
				if j.values["order"] != "kvq" {
					return false, fmt.Errorf("%s has latent attention, whose fused matrix has two shards; leave out order, or write order=kvq", j.f.Name())
				}
				read, laid = latent, []gguf.Tensor{latent[1], latent[0]}
			}
			if read == nil {
				continue
			}
			found = true
			if err := j.fuse(read, laid); err != nil {
				return false, err
			}
		}
		return found, nil
	})
}

// fuse gives the tensors of read, in turn, the rows of laid, concatenated.
func (j *job) fuse(read, laid []gguf.Tensor) error {
	_, want, err := rowSize(read[0])
	if err != nil {
		return err
	}
	for _, t := range read {
		if _, size, err := rowSize(t); err != nil || size != want || t.Type != read[0].Type {
			return fmt.Errorf("the shards of the fused matrix are stored in different row formats (%s); rows can only be moved between tensors of one: "+
				"use a file with one type throughout, such as F16 or Q8_0", describe(read))
		}
	}
	at := 0
	for _, t := range read {
		from := at
		j.edit.Patch(t.Name, func(raw []byte) error {
			var fused []byte
			for _, shard := range laid {
				b, err := j.f.Raw(shard.Name)
				if err != nil {
					return err
				}
				fused = append(fused, b...)
			}
			copy(raw, fused[from:])
			return nil
		})
		at += t.Size()
	}
	return nil
}

func describe(tensors []gguf.Tensor) string {
	var out []string
	for _, t := range tensors {
		out = append(out, fmt.Sprintf("%s: %v %v", t.Name, t.Type, t.Shape))
	}
	return strings.Join(out, ", ")
}
