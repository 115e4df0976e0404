package matchers

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"

	"touchstone/harness/verdict"
)

// Pass succeeds when no finding of a []verdict.Finding is a failure, an error
// or inconclusive. Known failures pass. Anything but findings is an error, so
// that Expect(...).NotTo(Pass()) fails on it too.
func Pass() types.GomegaMatcher { return &passMatcher{} }

type passMatcher struct{ bad []verdict.Finding }

func (m *passMatcher) Match(actual any) (bool, error) {
	fs, ok := actual.([]verdict.Finding)
	if !ok {
		return false, fmt.Errorf("Pass wants a []verdict.Finding, got %s", format.Object(actual, 1))
	}
	m.bad = nil
	for _, f := range fs {
		if f.Status != verdict.Pass && f.Status != verdict.Known {
			m.bad = append(m.bad, f)
		}
	}
	return len(m.bad) == 0, nil
}

// most is how many findings a failure message shows.
const most = 5

// FailureMessage says what was found, what was measured and how to repeat it.
// Volatile numbers come last in each line, so that equal failures look equal.
func (m *passMatcher) FailureMessage(any) string {
	var b strings.Builder
	for i, f := range m.bad {
		if i == most {
			fmt.Fprintf(&b, "\n… and %d more", len(m.bad)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s: %s", f.Status, f.Check, f.Summary)
		for _, d := range f.Details() {
			fmt.Fprintf(&b, "\n    %-9s %s", d.Name, d.Value)
		}
		if f.Reproduce != "" {
			fmt.Fprintf(&b, "\n    %-9s %s", "reproduce", f.Reproduce)
		}
	}
	return b.String()
}

// NegatedFailureMessage implements types.GomegaMatcher.
func (m *passMatcher) NegatedFailureMessage(any) string {
	return "expected a finding that doesn't pass, and all of them do"
}
