// Package fault holds the named defects that the reference server can be
// started with. A fault changes one step of the real computation through a hook
// of the engine; what comes out wrong is computed wrong, never made up.
//
// To add a fault: one file with a [Fault] and its test, and a line in registry.
package fault

import (
	"fmt"
	"slices"
	"strings"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
	"touchstone/harness/refserver/llama"
	"touchstone/harness/refserver/sched"
)

// Kind says what a fault changes.
type Kind string

// The kinds. A fault of speed leaves every answer as it is.
const (
	Answers Kind = "answers"
	Speed   Kind = "speed"
)

// A Fault is one named defect.
type Fault struct {
	Name    string   `json:"name"` // as written on the command line
	Kind    Kind     `json:"kind"`
	Summary string   `json:"summary"` // what goes wrong, in one sentence
	Reports []string `json:"reports"` // public reports of this defect in real engines
	Finding string   `json:"finding"` // the check that must catch it; empty for one of speed, which no check judges yet
	Params  []Param  `json:"params"`  // how it can be weakened or moved

	// Of install and pace a fault has the one of its kind.
	install func(h *llama.Hooks, f *gguf.File, values map[string]string) error
	pace    func(values map[string]string) sched.Pace
}

// A Param is one setting of a fault. All of them have a default.
type Param = spec.Param

// registry lists all faults, one file each.
func registry() []Fault {
	return []Fault{attentionOutputLost(), qkvShardOrder(), slow(), slowAfter(), slowBatch(), slowLength(), slowPrefill()}
}

// All returns all faults, sorted by name.
func All() []Fault {
	all := registry()
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// A Setting is a fault with its parameters, ready to install.
type Setting struct {
	Fault  Fault
	Values map[string]string // every parameter, defaults included
}

// String is the setting as [Parse] reads it, with all parameters.
func (s Setting) String() string { return spec.Format(s.Fault.Name, s.Fault.Params, s.Values) }

// Pace is the hook on the engine's clock of a fault of speed, with a memory of
// its own; nil for another fault.
func (s Setting) Pace() sched.Pace {
	if s.Fault.pace == nil {
		return nil
	}
	return s.Fault.pace(s.Values)
}

// Install adds the fault, one of answers, to h, for the model in f. Hooks that
// are set already run first. A fault that would change nothing about this model
// is an error: a build must never be called faulty that is not.
func (s Setting) Install(h *llama.Hooks, f *gguf.File) error {
	if s.Fault.Name == "" {
		return fmt.Errorf("the zero Setting has no fault; make one with Parse")
	}
	if s.Fault.install == nil {
		return fmt.Errorf("fault %s changes the clock and no arithmetic: install its Pace", s)
	}
	if err := s.Fault.install(h, f, s.Values); err != nil {
		return fmt.Errorf("fault %s: %w", s, err)
	}
	return nil
}
