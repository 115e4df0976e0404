package fault

import (
	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/llama"
)

// attentionOutputLost is the first founding fault (F04 of the report list): a
// custom operation wrote its result into a phantom tensor, and the real output
// buffer stayed zero. Each token then sees only itself and its position-free
// feed-forward path: fluent words that depend on the last token alone.
func attentionOutputLost() Fault {
	return Fault{
		Name:    "attention-output-lost",
		Kind:    Answers,
		Summary: "attention is computed, then written to a buffer that nobody reads; what is added is zero",
		Reports: []string{"vllm-project/vllm-ascend#3572", "vllm-project/vllm-ascend#6558"},
		Finding: "context.insensitive",
		Params:  []Param{spec.Layers("all")},
		install: installAttentionOutputLost,
	}
}

func installAttentionOutputLost(h *llama.Hooks, f *gguf.File, values map[string]string) error {
	config, err := llama.ReadConfig(f)
	if err != nil {
		return err
	}
	first, last, err := spec.LayerRange(values["layers"], config.Layers)
	if err != nil {
		return err
	}
	earlier := h.AttentionOutput
	h.AttentionOutput = func(layer int, rows []llama.Row, out []float32) {
		if earlier != nil {
			earlier(layer, rows, out)
		}
		if layer < first || layer > last {
			return
		}
		// The phantom: made, filled, dropped. It belongs to the call because one
		// set of hooks may serve several engines at once.
		phantom := make([]float32, len(out))
		copy(phantom, out)
		clear(out)
	}
	return nil
}
