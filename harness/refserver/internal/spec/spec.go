// Package spec reads faults as they are given on a command line:
//
//	spec  = name [ ":" param { "," param } ]
//	param = key "=" value
//
// for example "attention-output-zero:layers=0-1".
package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Param is one setting of a fault. All of them have a default.
type Param struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Default string `json:"default"`

	Check func(value string) error `json:"-"` // what can be told without a model
}

// Cut splits a spec into its name and its parameters, which are empty when it
// has none. A colon with nothing behind it is an error.
func Cut(spec string) (name, params string, err error) {
	name, params, colon := strings.Cut(spec, ":")
	if colon && params == "" {
		return "", "", fmt.Errorf("%q ends in a colon: write key=value behind it, or leave it out", spec)
	}
	return name, params, nil
}

// Values reads parameters. The result holds all of known, defaults included.
func Values(params string, known []Param) (map[string]string, error) {
	values := map[string]string{}
	if params != "" {
		for pair := range strings.SplitSeq(params, ",") {
			if err := set(values, pair, known); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range known {
		if _, given := values[p.Name]; !given {
			values[p.Name] = p.Default
		}
	}
	return values, nil
}

func set(values map[string]string, pair string, known []Param) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" || value == "" {
		return fmt.Errorf("%q is no parameter; write key=value, several separated by commas", pair)
	}
	i := slices.IndexFunc(known, func(p Param) bool { return p.Name == key })
	if i < 0 {
		var keys []string
		for _, p := range known {
			keys = append(keys, p.Name)
		}
		return fmt.Errorf("unknown parameter %q; %s", key, Suggest(key, keys))
	}
	if _, twice := values[key]; twice {
		return fmt.Errorf("parameter %q is given twice", key)
	}
	if err := known[i].Check(value); err != nil {
		return fmt.Errorf("parameter %s: %w", key, err)
	}
	values[key] = value
	return nil
}

// Format is the spec that Values reads as these values, all of them written out.
func Format(name string, known []Param, values map[string]string) string {
	for i, p := range known {
		name += string(":,"[min(i, 1)]) + p.Name + "=" + values[p.Name]
	}
	return name
}

// Suggest lists the known words, with the nearest one when it is near: at most
// a third of its letters wrong, or one the beginning of the other.
func Suggest(word string, known []string) string {
	if len(known) == 0 {
		return "none is known"
	}
	list := "known: " + strings.Join(known, ", ")
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

// Count is a parameter that takes a whole number from least on, or a word.
func Count(name, summary, byDefault string, least int, words ...string) Param {
	return Param{Name: name, Summary: summary, Default: byDefault, Check: func(v string) error {
		if n, err := strconv.Atoi(v); !slices.Contains(words, v) && (err != nil || n < least) {
			return fmt.Errorf("%q is no number from %d on", v, least)
		}
		return nil
	}}
}
