package gguf

import (
	"math"
	"os"
	"testing"
)

// A real quantised file, too large to keep here. The sums were computed by the
// Python package gguf (0.19.0) from the same file.
func TestSmolLM2(t *testing.T) {
	path := os.Getenv("TOUCHSTONE_SMOLLM2")
	if path == "" {
		t.Skip("TOUCHSTONE_SMOLLM2 names no SmolLM2-135M-Instruct.Q4_1.gguf")
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Tensors()); n != 272 {
		t.Errorf("%d tensors, want 272", n)
	}
	for _, tensor := range f.Tensors() {
		x, _, err := f.Float32(tensor.Name)
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares float64
		for i, v := range x {
			sum += float64(v) * float64(i%1009)
			squares += float64(v) * float64(v)
		}
		if want, ok := smolSums[tensor.Name]; ok && (math.Abs(sum-want[0]) > 1e-9*squares || math.Abs(squares-want[1]) > 1e-9*squares) {
			t.Errorf("%s (%v): weighted sum %.9g and squares %.9g, want %.9g and %.9g", tensor.Name, tensor.Type, sum, squares, want[0], want[1])
		}
	}
}

// smolSums holds, for each tensor x, Σ x[i]·(i mod 1009) and Σ x[i]².
var smolSums = map[string][2]float64{
	"token_embd.weight":      {-7804811.753322601, 520415.71544763993}, // Q8_0
	"blk.0.attn_q.weight":    {106117.72689819336, 26749.573275085306}, // Q4_1
	"blk.17.ffn_down.weight": {65399.150299072266, 31966.085642735474}, // Q4_1
	"blk.29.attn_v.weight":   {26252.104736328125, 9188.002153100446},  // Q4_1
	"output_norm.weight":     {298738.12109375, 1921.7355499267578},    // F32
}
