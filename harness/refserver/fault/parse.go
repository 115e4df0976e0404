package fault

import (
	"fmt"
	"slices"

	"touchstone/harness/refserver/internal/spec"
)

// Parse reads a fault as given on the command line, in the form that package
// spec describes, for example "attention-output-lost:layers=0-1". An unknown
// name or key is an error that lists the known ones and guesses which was meant.
func Parse(given string) (Setting, error) {
	name, params, err := spec.Cut(given)
	if err != nil {
		return Setting{}, fmt.Errorf("fault %w", err)
	}
	all := All()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return Setting{}, fmt.Errorf("unknown fault %q; %s", name, spec.Suggest(name, names))
	}
	values, err := spec.Values(params, all[i].Params)
	if err != nil {
		return Setting{}, fmt.Errorf("fault %q: %w", given, err)
	}
	return Setting{Fault: all[i], Values: values}, nil
}
