// Package matchers wraps Touchstone's checks as Gomega matchers. They have no
// logic of their own: the program and the reports call the same checks.
package matchers

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"

	"touchstone/harness/coherence"
)

// CoherentOption says what is known about the text that BeCoherent judges.
type CoherentOption func(*coherence.Text)

// WithPrompt gives what was asked.
func WithPrompt(prompt string) CoherentOption {
	return func(t *coherence.Text) { t.Prompt = prompt }
}

// WithTags gives what the prompt asks for, from coherence's vocabulary. An
// unknown tag is an error of the matcher.
func WithTags(tags ...string) CoherentOption {
	return func(t *coherence.Text) { t.Tags = append(t.Tags, tags...) }
}

// WithBaseline gives the known-good build's answer to the same prompt.
func WithBaseline(answer string) CoherentOption {
	return func(t *coherence.Text) { t.Baseline = &answer }
}

var coherentTemplate = must(gcustom.ParseTemplate(
	"Expected text\n{{.FormattedActual}}\n{{.To}} be coherent{{if .Failure}}, but{{range .Data.Lines}}\n    {{.}}{{end}}{{end}}"))

// BeCoherent succeeds for a text (a string or a coherence.Text) in which no
// check of package coherence finds a fault. Anything else, and an unknown tag,
// is an error, so that neither To nor NotTo passes.
func BeCoherent(opts ...CoherentOption) types.GomegaMatcher {
	data := &coherentData{}
	return gcustom.MakeMatcher(func(actual any) (bool, error) {
		var t coherence.Text
		switch a := actual.(type) {
		case string:
			t.Text = a
		case coherence.Text:
			t = a
		default:
			return false, fmt.Errorf("BeCoherent expects a string or a coherence.Text, got %T", actual)
		}
		t.Tags = append([]string(nil), t.Tags...) // options must not write into the caller's slice
		for _, o := range opts {
			o(&t)
		}
		if _, err := coherence.ParseTags(t.Tags); err != nil {
			return false, fmt.Errorf("BeCoherent: %w", err)
		}
		data.found = coherence.Run(t)
		return len(data.found) == 0, nil
	}, coherentTemplate).WithTemplateData(data)
}

// coherentData carries the findings from the match to its message.
type coherentData struct{ found []coherence.Finding }

// Lines describes the findings, volatile numbers last.
func (d *coherentData) Lines() []string {
	var out []string
	for _, f := range d.found {
		out = append(out, fmt.Sprintf("%s: %s: %q at byte %d (measured %.4g, limit %.4g)",
			f.Check, f.Summary, strings.TrimSpace(f.Excerpt), f.Offset, f.Measured, f.Limit))
	}
	return out
}

// must is for templates that are constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
