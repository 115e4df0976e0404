package corrupt

import "touchstone/harness/refserver/internal/spec"

// gateUpSwap is the other fused matrix of a layer whose shards can come in the
// wrong order (F02): SwiGLU multiplies silu(gate) with up, and the two have one
// shape, so nothing but the result tells that they changed places.
func gateUpSwap() Fault {
	return Fault{
		Name:    "gate-up-swap",
		Summary: "the gate and up matrices of the feed-forward layers have changed places, those of experts too",
		Reports: []string{"vllm-project/vllm#41057"},
		Params:  []spec.Param{spec.Layers("all")},
		plan:    planGateUpSwap,
	}
}

func planGateUpSwap(j *job) error {
	return j.eachLayer("ffn_gate and ffn_up", func(layer int) (bool, error) {
		found := false
		for _, kind := range []string{"", "_exps", "_shexp"} { // dense, experts, shared expert
			for _, suffix := range weightAndBias {
				pair := j.tensors(blk(layer, "ffn_gate"+kind+suffix), blk(layer, "ffn_up"+kind+suffix))
				if pair == nil {
					continue
				}
				found = true
				if err := j.replace(pair[0], pair[1]); err != nil {
					return false, err
				}
				if err := j.replace(pair[1], pair[0]); err != nil {
					return false, err
				}
			}
		}
		return found, nil
	})
}
