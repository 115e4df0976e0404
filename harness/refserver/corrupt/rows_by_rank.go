package corrupt

import (
	"fmt"
	"strconv"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
)

// rowsByRank is a wrong tensor-parallel split (F03): the matrices that are cut
// by rows between ranks hold another rank's rows, while those that are cut by
// columns and read their result (attn_output, ffn_down) are right.
func rowsByRank() Fault {
	return Fault{
		Name:    "rows-by-rank",
		Summary: "matrices that tensor parallelism cuts by rows hold the rows of the wrong rank",
		Reports: []string{"vllm-project/vllm-gguf-plugin#103", "vllm-project/vllm#47326"},
		Params: []spec.Param{spec.Layers("all"),
			spec.Count("ranks", "how many ranks the rows are cut into", "2", 2),
			choice("part", "Q, K and V, or gate and up, or all of them", "all", "attention", "ffn"),
			choice("take", "each rank has the shard of the next one, or all have the first one's", "next", "first")},
		plan: planRowsByRank,
	}
}

func planRowsByRank(j *job) error {
	parts := map[string][]string{"attention": {"attn_q", "attn_k", "attn_v"}, "ffn": {"ffn_gate", "ffn_up"}}
	parts["all"] = append(append([]string{}, parts["attention"]...), parts["ffn"]...)
	ranks, err := strconv.Atoi(j.values["ranks"])
	if err != nil {
		return err
	}
	return j.eachLayer("matrices of this part", func(layer int) (bool, error) {
		found := false
		for _, part := range parts[j.values["part"]] {
			for _, suffix := range weightAndBias {
				for _, t := range j.tensors(blk(layer, part+suffix)) {
					if err := j.cutByRank(t, ranks); err != nil {
						return false, err
					}
					found = true
				}
			}
		}
		return found, nil
	})
}

func (j *job) cutByRank(t gguf.Tensor, ranks int) error {
	rows, _, err := rowSize(t)
	if err != nil {
		return err
	}
	if rows%ranks != 0 {
		return fmt.Errorf("%s has %d rows, which %d ranks cannot share evenly", t.Name, rows, ranks)
	}
	chunk := rows / ranks
	source := make([]int, rows)
	for i := range source {
		if source[i] = (i + chunk) % rows; j.values["take"] == "first" {
			source[i] = i % chunk
		}
	}
	return j.permute(t, source)
}
