package fault

import (
	"fmt"
	"strconv"
	"strings"
)

// layersParam is the parameter of faults that can be limited to some layers.
func layersParam() Param {
	return Param{
		Name:    "layers",
		Summary: `which layers: "all", "half" (the first half), one number, or a range such as 0-1 (both ends count, the first layer is 0)`,
		Default: "all",
		check:   func(value string) error { _, _, err := layerRange(value, 0); return err },
	}
}

// layerRange reads a value of layersParam for a model of n layers, as the
// layers first to last. n 0 stands for a model that is not known yet.
func layerRange(value string, n int) (first, last int, err error) {
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
