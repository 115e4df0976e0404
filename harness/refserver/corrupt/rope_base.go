package corrupt

import (
	"fmt"
	"math"
	"strconv"

	"touchstone/harness/refserver/internal/spec"
)

// defaultBase is what llama.cpp takes when the file has no base.
const defaultBase = 10000

// ropeBase is a wrong RoPE base (F09), most often that of another model
// generation, or the default in place of the model's own. In the file it is
// metadata: rope.freq_base, which is added when it is absent.
func ropeBase() Fault {
	return Fault{
		Name:    "rope-base",
		Summary: "the metadata give another RoPE base",
		Reports: []string{"ggml-org/llama.cpp#9127", "vllm-project/vllm#20816"},
		Params: []spec.Param{{Name: "base", Summary: "the base; Llama 2 has 10000, Llama 3 500000", Default: "500000", Check: func(v string) error {
			if x, err := strconv.ParseFloat(v, 32); err != nil || !(x > 0) || math.IsInf(x, 0) {
				return fmt.Errorf("%q is no number above 0", v)
			}
			return nil
		}}},
		plan: func(j *job) error {
			base, err := strconv.ParseFloat(j.values["base"], 32)
			if err != nil {
				return err
			}
			key := j.arch + ".rope.freq_base"
			now, ok, err := j.f.Float(key)
			if err != nil {
				return err
			}
			if !ok {
				now = defaultBase
			}
			if float32(now) == float32(base) {
				return fmt.Errorf("the base of %s is %g already, so nothing would be wrong; choose another one with base=", j.f.Name(), now)
			}
			j.edit.SetFloat32(key, float32(base))
			return nil
		},
	}
}
