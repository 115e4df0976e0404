package fault

import (
	"time"

	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/sched"
)

// slowAfter is a slow-down that stays (F25): after one long prompt, every later
// one is slow too, short as it is, until the server is started anew.
func slowAfter() Fault {
	return Fault{
		Name:    "slow-after",
		Kind:    Speed,
		Summary: "once a prompt of more than so many tokens was computed, every later step takes longer",
		Reports: []string{"ollama/ollama#7717"},
		Params:  []Param{percentParam("200"), spec.Count("above", "tokens of a prompt that leaves no trace", "256", 0)},
		pace: func(values map[string]string) sched.Pace {
			p, above := percent(values), count(values, "above")
			stuck := false
			return func(s sched.Step, d time.Duration) time.Duration {
				was := stuck
				stuck = stuck || s.LongestPrompt > above
				if was {
					return longer(d, p)
				}
				return d
			}
		},
	}
}
