package corrupt

import (
	"fmt"
	"math"
	"strconv"

	"touchstone/harness/refserver/internal/spec"
)

// scale is a wrong quantisation scale (F11): that of another tensor, of another
// group, or one that was applied twice.
func scale() Fault {
	return Fault{
		Name:    "scale",
		Summary: "the quantisation scales of one tensor are wrong by a factor; in a plain type, the numbers of its blocks of 32",
		Reports: []string{"flashinfer-ai/flashinfer#3334", "vllm-project/vllm#10656", "vllm-project/vllm#23702"},
		Params: []spec.Param{tensorParam("blk.0.ffn_down.weight"), {
			Name: "factor", Summary: "what the scales are multiplied with", Default: "16", Check: checkFactor},
			spec.Count("every", "which blocks: 1 takes all, 2 every second one, and so on", "1", 1)},
		plan: planScale,
	}
}

func checkFactor(v string) error {
	if x, err := strconv.ParseFloat(v, 32); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%q is no number", v)
	}
	return nil
}

func planScale(j *job) error {
	t, err := j.named()
	if err != nil {
		return err
	}
	s, err := storedAs(t)
	if err != nil {
		return err
	}
	factor, err := strconv.ParseFloat(j.values["factor"], 32)
	if err != nil {
		return err
	}
	every, err := strconv.Atoi(j.values["every"])
	if err != nil {
		return err
	}
	j.edit.Patch(t.Name, func(raw []byte) error {
		span := s.span(t)
		for block := 0; block*span < len(raw); block += every {
			for at := block * span; at < min((block+1)*span, len(raw)); at += s.stride {
				before := s.get(raw[at:])
				s.put(raw[at:], before*float32(factor))
				if after := float64(s.get(raw[at:])); math.IsInf(after, 0) && !math.IsInf(float64(before), 0) {
					return fmt.Errorf("%g times %g is beyond the largest number of its type; choose a smaller factor (nan-block makes numbers that are none)", before, factor)
				}
			}
		}
		return nil
	})
	return nil
}
