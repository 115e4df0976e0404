package corrupt

import (
	"fmt"
	"strconv"

	"touchstone/harness/refserver/internal/spec"
)

// nanBlock is a block of numbers that are none (F01), as an overflow on the way
// into the file leaves them. The default tensor is one that every token passes.
func nanBlock() Fault {
	return Fault{
		Name:    "nan-block",
		Summary: "one block of 32 numbers of one tensor is NaN",
		Reports: []string{"vllm-project/vllm#13035", "vllm-project/vllm#14126"},
		Params: []spec.Param{tensorParam("blk.0.ffn_down.weight"),
			spec.Count("block", "which block of 32 numbers, the first one is 0", "0", 0)},
		plan: planNaNBlock,
	}
}

func planNaNBlock(j *job) error {
	t, err := j.named()
	if err != nil {
		return err
	}
	s, err := storedAs(t)
	if err != nil {
		return err
	}
	block, err := strconv.Atoi(j.values["block"])
	if err != nil {
		return err
	}
	span := s.span(t)
	if blocks := (t.Size() + span - 1) / span; block >= blocks {
		return fmt.Errorf("block=%d goes beyond tensor %s, whose last block of 32 is %d", block, t.Name, blocks-1)
	}
	j.edit.Patch(t.Name, func(raw []byte) error {
		for at := block * span; at < min((block+1)*span, len(raw)); at += s.stride {
			s.setBits(raw[at:], s.nan)
		}
		return nil
	})
	return nil
}
