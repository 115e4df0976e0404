package fault

import (
	"time"

	"touchstone/harness/refserver/sched"
)

// slow is the plain slow-down (F25 of the report list), the fault that is
// reported most often: an upgrade after which every token takes longer. At 1 %
// it is a benign variant, within the margin of a comparison; negative, a faster
// build.
func slow() Fault {
	return Fault{
		Name:    "slow",
		Kind:    Speed,
		Summary: "every step takes longer",
		Reports: []string{
			"ggml-org/llama.cpp#13735", "ikawrakow/ik_llama.cpp#2197", "ollama/ollama#14740", "ollama/ollama#18225",
			"sgl-project/sglang#24563", "sgl-project/sglang#28300", "vllm-project/vllm#24082", "vllm-project/vllm#31030",
			"vllm-project/vllm#4210",
		},
		Params: []Param{percentParam("5")},
		pace: func(values map[string]string) sched.Pace {
			p := percent(values)
			return func(_ sched.Step, d time.Duration) time.Duration { return longer(d, p) }
		},
	}
}
