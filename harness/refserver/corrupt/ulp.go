package corrupt

import "touchstone/harness/refserver/internal/spec"

// ulp is the benign one (F31): every stored number becomes its upper or lower
// neighbour. A different order of summation changes results about as much, and a
// gate that calls this a regression would call every new kernel one.
//
// Zeros stay: a weight that is exactly zero is padding, or was put there.
func ulp() Fault {
	return Fault{
		Name:    "ulp",
		Summary: "benign: every number is off by one unit in the last place of its stored type, up or down; in quantised types, the scales and minima",
		Benign:  true,
		Reports: []string{"ggml-org/llama.cpp#7052", "sgl-project/sglang#4175"},
		Params:  []spec.Param{seedParam()},
		plan:    planULP,
	}
}

func planULP(j *job) error {
	for _, t := range j.f.Tensors() {
		s, err := storedAs(t)
		if err != nil {
			return err
		}
		random, err := j.random(t.Name)
		if err != nil {
			return err
		}
		j.edit.Patch(t.Name, func(raw []byte) error {
			for at := 0; at < len(raw); at += s.stride {
				for _, offset := range s.at {
					b := raw[at+offset:]
					s.setBits(b, s.neighbour(s.bits(b), random.Uint64()&1 == 0))
				}
			}
			return nil
		})
	}
	return nil
}

// neighbour returns the next number away from zero, or towards it. The bits of
// floats of one sign are ordered as the numbers are. What would become zero or
// infinite goes the other way; zeros, infinities and NaNs stay.
func (s stored) neighbour(bits uint32, away bool) uint32 {
	size := bits &^ s.sign
	switch {
	case size == 0 || size >= s.inf:
		return bits
	case size+1 == s.inf:
		away = false
	case size == 1:
		away = true
	}
	if away {
		return bits + 1
	}
	return bits - 1
}
