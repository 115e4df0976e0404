package fault

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// percentParam says by how much a step gets longer.
func percentParam(byDefault string) Param {
	return Param{
		Name:    "percent",
		Summary: "by how much a step gets longer; negative: shorter, as far as the arithmetic lets it",
		Default: byDefault,
		Check: func(value string) error {
			if p, err := strconv.ParseFloat(value, 64); err != nil || !(p > -100 && p <= 10000) {
				return fmt.Errorf("%q is no percentage from above -100 to 10000, such as 5 or -1.5", value)
			}
			return nil
		},
	}
}

// percent and count read values that have been checked.
func percent(values map[string]string) float64 {
	p, _ := strconv.ParseFloat(values["percent"], 64)
	return p
}

func count(values map[string]string, name string) int {
	n, _ := strconv.Atoi(values[name])
	return n
}

// longer is d and so many percent of it.
func longer(d time.Duration, percent float64) time.Duration {
	return time.Duration(math.Round(float64(d) * (1 + percent/100)))
}
