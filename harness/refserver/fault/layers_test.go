package fault

import "testing"

func TestLayerRange(t *testing.T) {
	for _, c := range []struct {
		value       string
		n           int
		first, last int
	}{
		{"all", 4, 0, 3}, {"half", 4, 0, 1}, {"half", 5, 0, 1}, {"half", 1, 0, 0},
		{"2", 4, 2, 2}, {"1-3", 4, 1, 3}, {"0-0", 1, 0, 0},
	} {
		first, last, err := layerRange(c.value, c.n)
		if err != nil || first != c.first || last != c.last {
			t.Errorf("%s of %d layers is %d to %d (%v), want %d to %d", c.value, c.n, first, last, err, c.first, c.last)
		}
	}
	_, _, err := layerRange("2-4", 4)
	wantError(t, err, "beyond the model", "last layer is 3")
}
