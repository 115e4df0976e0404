package corrupt

import "touchstone/harness/refserver/internal/spec"

// layerZero is a layer that the loader never filled, or filled and discarded
// (F28): all its tensors are zero, so what it adds to the hidden state is zero.
func layerZero() Fault {
	return Fault{
		Name:    "layer-zero",
		Summary: "all tensors of a layer are zero, as if they had never been loaded: the layer adds nothing",
		Reports: []string{"vllm-project/vllm#29341"},
		Params:  []spec.Param{spec.Layers("0")},
		plan: func(j *job) error {
			return j.eachLayer("tensors", func(layer int) (bool, error) {
				found := false
				for _, t := range j.f.Tensors() {
					if i, ok := layerOf(t.Name); ok && i == layer {
						j.zero(t.Name)
						found = true
					}
				}
				return found, nil
			})
		},
	}
}
