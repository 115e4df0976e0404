package corrupt

import (
	"fmt"
	"strconv"

	"touchstone/harness/refserver/internal/spec"
)

// layerFrom is a loader that counts layers wrongly, as pipeline stages and
// layers that a draft model shares make easy: the tensors fit, and belong
// elsewhere.
func layerFrom() Fault {
	return Fault{
		Name:    "layer-from",
		Summary: "a layer holds the tensors of another one",
		Reports: []string{"vllm-project/vllm#510"},
		Params: []spec.Param{spec.Layers("1"),
			spec.Count("from", `the layer whose tensors are taken; "last" is the last one`, "last", 0, "last")},
		plan: planLayerFrom,
	}
}

func planLayerFrom(j *job) error {
	from := j.layers - 1
	if v := j.values["from"]; v != "last" {
		from, _ = strconv.Atoi(v) // checked by Parse
	}
	if from >= j.layers {
		return fmt.Errorf("from=%d goes beyond the model, whose last layer is %d", from, j.layers-1)
	}
	return j.eachLayer("tensors", func(layer int) (bool, error) {
		found := false
		for _, t := range j.f.Tensors() {
			i, ok := layerOf(t.Name)
			if !ok || i != layer {
				continue
			}
			source, err := j.f.Tensor(blk(from, t.Name[len(blk(layer, "")):]))
			if err != nil {
				return false, fmt.Errorf("layer %d is built differently from layer %d: %w", from, layer, err)
			}
			if err := j.replace(t, source); err != nil {
				return false, err
			}
			found = true
		}
		return found, nil
	})
}
