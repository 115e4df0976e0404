package corrupt

import (
	"fmt"
	"strconv"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
)

// rowsByHead is the wrong head count in the permutation of Q and K (F02b).
// llama.cpp rotates neighbouring rows of a head, Hugging Face's models rotate row
// i with row i + half; convert_hf_to_gguf.py therefore permutes the rows, head by
// head (LlamaModel.permute), and with grouped queries K must be cut into the
// key-value heads. The other count gives files that load.
func rowsByHead() Fault {
	return Fault{
		Name:    "rows-by-head",
		Summary: "the rows of Q and K are permuted for RoPE with the wrong number of heads",
		Reports: []string{"vllm-project/vllm#57508"},
		Params: []spec.Param{spec.Layers("all"),
			spec.Count("heads", `the number of heads that the rows are cut into; "other" takes the key-value heads for Q and the query heads for K, `+
				`half of the heads where both are the same, and leaves a matrix alone whose rows cannot be cut so`, "other", 1, "other")},
		plan: planRowsByHead,
	}
}

func planRowsByHead(j *job) error {
	heads, ok, err := j.f.Int(j.arch + ".attention.head_count")
	if err != nil {
		return err
	}
	if !ok || heads <= 0 {
		return fmt.Errorf("%s: the key %s.attention.head_count is missing or not above 0", j.f.Name(), j.arch)
	}
	kvHeads, ok, err := j.f.Int(j.arch + ".attention.head_count_kv")
	if err != nil {
		return err
	}
	if !ok || kvHeads <= 0 {
		kvHeads = heads
	}
	return j.eachLayer("attn_q and attn_k whose rows can be cut into that many heads", func(layer int) (bool, error) {
		found := false
		for _, suffix := range weightAndBias {
			pair := j.tensors(blk(layer, "attn_q"+suffix), blk(layer, "attn_k"+suffix))
			if pair == nil {
				continue
			}
			q, err := j.cutByHead(pair[0], heads, kvHeads)
			if err != nil {
				return false, err
			}
			k, err := j.cutByHead(pair[1], kvHeads, heads)
			if err != nil {
				return false, err
			}
			found = found || q || k
		}
		return found, nil
	})
}

// cutByHead permutes the rows of a tensor of so many heads as if it had other.
func (j *job) cutByHead(t gguf.Tensor, heads, other int) (bool, error) {
	if v := j.values["heads"]; v != "other" {
		other, _ = strconv.Atoi(v) // checked by Parse
	} else if other == heads {
		other = max(heads/2, 1)
	}
	rows, _, err := rowSize(t)
	if err != nil {
		return false, err
	}
	if rows%(2*heads) != 0 {
		return false, fmt.Errorf("%s has %d rows, which %d heads of an even size do not fill", t.Name, rows, heads)
	}
	if rows%(2*other) != 0 {
		return false, nil // reshape would have raised
	}
	source := interleaved(rows, other)
	if j.arch == "llama" {
		// The file's rows are permuted already: take that back first. Row
		// inverse[s] of the file is row s of the model before its conversion.
		inverse := make([]int, rows)
		for r, s := range interleaved(rows, heads) {
			inverse[s] = r
		}
		for i, s := range source {
			source[i] = inverse[s]
		}
	}
	return true, j.permute(t, source)
}

// interleaved is LlamaModel.permute: of each head, row 2i comes from row i, and
// row 2i + 1 from row i + half.
func interleaved(rows, heads int) []int {
	source := make([]int, 0, rows)
	size := rows / heads
	for head := range heads {
		for i := range size / 2 {
			source = append(source, head*size+i, head*size+size/2+i)
		}
	}
	return source
}
