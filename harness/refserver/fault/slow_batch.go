package fault

import (
	"time"

	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/sched"
)

// slowBatch is a slow-down that begins at a size of the batch (F25): captured
// graphs that stop at a size and are skipped silently above it.
func slowBatch() Fault {
	return Fault{
		Name:    "slow-batch",
		Kind:    Speed,
		Summary: "steps of more than so many sequences take longer",
		Reports: []string{"sgl-project/sglang#5527", "vllm-project/vllm#35048", "vllm-project/vllm#51663"},
		Params:  []Param{percentParam("5"), spec.Count("above", "sequences that a step may hold and be as fast as ever", "64", 0)},
		pace: func(values map[string]string) sched.Pace {
			p, above := percent(values), count(values, "above")
			return func(s sched.Step, d time.Duration) time.Duration {
				if s.Sequences > above {
					return longer(d, p)
				}
				return d
			}
		},
	}
}
