package fault

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads a fault as given on the command line:
//
//	spec  = name [ ":" param { "," param } ]
//	param = key "=" value
//
// for example "attention-output-lost:layers=0-1". An unknown name or key is an
// error that lists the known ones and guesses which was meant.
func Parse(spec string) (Setting, error) {
	name, rest, hasParams := strings.Cut(spec, ":")
	all := All()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		return Setting{}, fmt.Errorf("unknown fault %q; %s", name, suggest(name, names))
	}
	s := Setting{Fault: all[i], Values: map[string]string{}}
	if hasParams {
		for pair := range strings.SplitSeq(rest, ",") {
			if err := s.set(pair); err != nil {
				return Setting{}, fmt.Errorf("fault %q: %w", spec, err)
			}
		}
	}
	for _, p := range s.Fault.Params {
		if _, given := s.Values[p.Name]; !given {
			s.Values[p.Name] = p.Default
		}
	}
	return s, nil
}

func (s *Setting) set(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" || value == "" {
		return fmt.Errorf("%q is no parameter; write key=value, several separated by commas", pair)
	}
	i := slices.IndexFunc(s.Fault.Params, func(p Param) bool { return p.Name == key })
	if i < 0 {
		var keys []string
		for _, p := range s.Fault.Params {
			keys = append(keys, p.Name)
		}
		return fmt.Errorf("unknown parameter %q; %s", key, suggest(key, keys))
	}
	if _, twice := s.Values[key]; twice {
		return fmt.Errorf("parameter %q is given twice", key)
	}
	if err := s.Fault.Params[i].check(value); err != nil {
		return fmt.Errorf("parameter %s: %w", key, err)
	}
	s.Values[key] = value
	return nil
}

// suggest lists the known words, with the nearest one when it is near: at most
// a third of its letters wrong, or one the beginning of the other.
func suggest(word string, known []string) string {
	list := "known: " + strings.Join(known, ", ")
	if len(known) == 0 {
		return "none is known"
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(word, a) - distance(word, b) })
	for _, k := range known {
		if word != "" && strings.HasPrefix(k, word) {
			nearest = k
		}
	}
	if strings.HasPrefix(nearest, word) && word != "" || 3*distance(word, nearest) <= len(nearest) {
		return fmt.Sprintf("did you mean %q? (%s)", nearest, list)
	}
	return list
}

// distance is the number of bytes to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
