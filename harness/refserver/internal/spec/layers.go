package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Layers is the parameter of faults that can be limited to some layers.
func Layers(byDefault string) Param {
	return Param{
		Name:    "layers",
		Summary: `which layers: "all", "half" (the first half), one number, or a range such as 0-1 (both ends count, the first layer is 0)`,
		Default: byDefault,
		Check:   func(value string) error { _, _, err := LayerRange(value, 0); return err },
	}
}

// LayerRange reads a value of [Layers] for a model of n layers, as the layers
// first to last. n 0 stands for a model that is not known yet.
func LayerRange(value string, n int) (first, last int, err error) {
	switch value {
	case "all":
		return 0, n - 1, nil
	case "half":
		return 0, max(n/2, 1) - 1, nil
	}
	from, to, isRange := strings.Cut(value, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 0 || first > last {
		return 0, 0, fmt.Errorf("%q names no layers; write all, half, a number, or a range such as 0-1", value)
	}
	if n > 0 && last >= n {
		return 0, 0, fmt.Errorf("layers %s go beyond the model, whose last layer is %d", value, n-1)
	}
	return first, last, nil
}
