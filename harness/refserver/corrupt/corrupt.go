// Package corrupt copies a GGUF file with one named defect in its weights or
// metadata. Every engine that loads GGUF can be given the same defect that way,
// so what a gate says of llama-server can be held against what it says of the
// reference server.
//
// Nothing is decoded and encoded again where moving bytes does: rows of a tensor
// are moved as they are stored, whatever their type. The output depends on the
// input and the spec alone, to the byte.
//
// To add a defect: one file with a [Fault] and its test, and a line in registry.
package corrupt

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
)

// A Fault is one named defect of a model file.
type Fault struct {
	Name    string       `json:"name"`    // as written on the command line
	Summary string       `json:"summary"` // what is wrong in the copy, in one sentence
	Benign  bool         `json:"benign"`  // a gate must pass it: the one that shows what a healthy difference looks like
	Reports []string     `json:"reports"` // public reports of this defect, or of its symptom, in real engines
	Params  []spec.Param `json:"params"`  // how it can be weakened or moved

	plan func(j *job) error
}

// registry lists all faults, one file each.
func registry() []Fault {
	return []Fault{
		attentionOutputZero(), gateUpSwap(), layerFrom(), layerZero(), nanBlock(), qkvSwap(),
		ropeBase(), rowsByHead(), rowsByRank(), scale(), ulp(), vocabSwap(),
	}
}

// All returns all faults, sorted by name.
func All() []Fault {
	all := registry()
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A Setting is a fault with its parameters.
type Setting struct {
	Fault  Fault
	Values map[string]string // every parameter, defaults included
}

// Parse reads a fault as given on the command line, name[:key=value{,key=value}].
// An unknown name or key is an error that lists the known ones and guesses which
// was meant.
func Parse(s string) (Setting, error) {
	name, params, err := spec.Cut(s)
	if err != nil {
		return Setting{}, err
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
		return Setting{}, fmt.Errorf("fault %q: %w", s, err)
	}
	return Setting{Fault: all[i], Values: values}, nil
}

// String is the setting as [Parse] reads it, with all parameters.
func (s Setting) String() string { return spec.Format(s.Fault.Name, s.Fault.Params, s.Values) }

// A Result says what became of a file.
type Result struct {
	Fault   string   `json:"fault"`   // with all parameters
	Tensors int      `json:"tensors"` // of the file
	Changed []string `json:"changed"` // tensors with other bytes, in the order of their data
	Header  bool     `json:"header"`  // the metadata differ
	Bytes   int64    `json:"bytes"`   // written
}

// Write writes the copy of f with the fault. A fault that changes nothing about
// f is an error, found at the end at the latest: what was written by then is to
// be thrown away.
func (s Setting) Write(w io.Writer, f *gguf.File) (Result, error) {
	r, err := s.write(w, f)
	if err != nil {
		return Result{}, fmt.Errorf("fault %s: %w", s, err)
	}
	return r, nil
}

func (s Setting) write(w io.Writer, f *gguf.File) (Result, error) {
	if s.Fault.plan == nil {
		return Result{}, errors.New("the zero Setting has no fault; make one with Parse")
	}
	j, err := newJob(f, s.Values)
	if err != nil {
		return Result{}, err
	}
	if err := s.Fault.plan(j); err != nil {
		return Result{}, err
	}
	n, err := j.edit.WriteTo(w)
	if err != nil {
		return Result{}, err
	}
	changed, header := j.edit.Changed()
	if len(changed) == 0 && !header {
		return Result{}, fmt.Errorf("it changes nothing about %s, so the copy would be healthy; choose other settings or another file", f.Name())
	}
	return Result{Fault: s.String(), Tensors: len(f.Tensors()), Changed: changed, Header: header, Bytes: n}, nil
}
