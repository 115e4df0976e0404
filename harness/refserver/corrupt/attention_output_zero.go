package corrupt

import "touchstone/harness/refserver/internal/spec"

// attentionOutputZero is the first founding fault (F04) put into the file: with
// an output projection of zeros, attention is computed and adds nothing. A bias
// of the projection stays: it is added in an engine that lost the output, too.
func attentionOutputZero() Fault {
	return Fault{
		Name:    "attention-output-zero",
		Summary: "the output projection of attention is zero: attention is computed and adds nothing",
		Reports: []string{"vllm-project/vllm-ascend#3572", "vllm-project/vllm-ascend#6558"},
		Params:  []spec.Param{spec.Layers("all")},
		plan: func(j *job) error {
			return j.eachLayer("attn_output.weight", func(layer int) (bool, error) {
				name := blk(layer, "attn_output.weight")
				if !j.f.Has(name) {
					return false, nil
				}
				j.zero(name)
				return true, nil
			})
		},
	}
}
