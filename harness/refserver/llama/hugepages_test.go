package llama

import "testing"

// TestHugePagesOfAnySize: a cache without one whole huge page, or that begins and
// ends inside one, is asked for in bounds and keeps its content.
func TestHugePagesOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 2<<20/4 + 1, 5<<20/4 + 3} {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i)
		}
		if n > 0 {
			wantHugePages(data[1:])
		}
		wantHugePages(data)
		for i, v := range data {
			if v != float32(i) {
				t.Fatalf("%d numbers: number %d became %g", n, i, v)
			}
		}
	}
}
