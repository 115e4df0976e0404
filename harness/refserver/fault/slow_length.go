package fault

import (
	"time"

	"touchstone/harness/refserver/sched"
)

// slowLength makes a token's time grow with the longest text in the batch
// (F25): a detokeniser that reads all of it again at each token, or a kernel
// that pads every sequence to the longest. A long answer gets slower as it
// goes, and so does everybody who shares a batch with it.
func slowLength() Fault {
	return Fault{
		Name:    "slow-length",
		Kind:    Speed,
		Summary: "a step takes longer with every hundred tokens of the longest sequence in it",
		Reports: []string{"sgl-project/sglang#34740"},
		Params:  []Param{percentParam("300")},
		pace: func(values map[string]string) sched.Pace {
			p := percent(values)
			return func(s sched.Step, d time.Duration) time.Duration {
				return max(0, longer(d, p*float64(s.Longest)/100))
			}
		},
	}
}
