package fault

import (
	"time"

	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/sched"
)

// slowPrefill is a slow-down of long prompts alone (F25): TTFT moves, while a
// token takes what it took. Pace the server with a time for each prompt token
// too, or a prompt's one step is as short as any other.
func slowPrefill() Fault {
	return Fault{
		Name:    "slow-prefill",
		Kind:    Speed,
		Summary: "steps that compute a prompt of more than so many tokens take longer",
		Reports: []string{"sgl-project/sglang#5396", "vllm-project/vllm#48803"},
		Params:  []Param{percentParam("5"), spec.Count("above", "tokens of a prompt that is as fast as ever", "512", 0)},
		pace: func(values map[string]string) sched.Pace {
			p, above := percent(values), count(values, "above")
			return func(s sched.Step, d time.Duration) time.Duration {
				if s.LongestPrompt > above {
					return longer(d, p)
				}
				return d
			}
		},
	}
}
