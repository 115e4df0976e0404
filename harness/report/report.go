// Package report renders a judged run for people: a terminal, a pull request.
// It is pure: everything comes from the run folder.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/health"
	"touchstone/harness/load"
	"touchstone/harness/report/table"
	"touchstone/harness/scrape"
	"touchstone/harness/verdict"
)

// Model is what every format is rendered from.
type Model struct {
	Target   exchange.Target
	URL      string // of the target, where it is known: a run folder doesn't keep it
	Baseline string // name; empty: none
	Base     *fixture.Baseline
	Tier     string
	Started  time.Time
	Verdict  verdict.Verdict
	Load     *Load // nil: no load was run
	// Mode changes the first line: "report-only" judges without gating.
	ReportOnly bool
}

// Load is a workload and what was measured.
type Load struct {
	Workload  string
	Metrics   load.Metrics
	GPUs      int                // 0: not told
	Reference *fixture.Reference // nil: none
	Void      []load.Void        // why the numbers mean nothing; empty: they are valid
	Server    *scrape.Server     // what the server counted meanwhile; nil: not asked
	Health    *health.Health     // how the client was; nil: not watched
}

// Format names an output format.
type Format string

// The formats.
const (
	Text     Format = "text"
	Markdown Format = "md"
)

// Render writes the model in a format. width is the terminal's, in columns.
func Render(w io.Writer, m Model, f Format, width int) error {
	switch f {
	case Text:
		return renderText(w, m, width)
	case Markdown:
		return renderMarkdown(w, m)
	}
	return fmt.Errorf("unknown format %q, want text or md", f)
}

// RenderLoad writes the load alone, with what speaks against its numbers.
func RenderLoad(w io.Writer, m Model, width int) error {
	p := &printer{w: w}
	for _, l := range broken(m.Verdict) {
		p.finding(l, width)
	}
	if p.err != nil || m.Load == nil {
		return p.err
	}
	return loadTable(w, *m.Load, table.Text, width)
}

// headline is the first line of every format.
func headline(m Model) string {
	s := strings.ToUpper(m.Verdict.Status.String())
	if m.ReportOnly {
		s = "REPORT ONLY (exit code 0 whatever was found): " + s
	}
	who := m.Target.Model + " on " + m.Target.Engine
	if m.Target.Version != "" {
		who += " " + m.Target.Version
	}
	against := "without a baseline"
	if m.Baseline != "" {
		against = "against baseline " + m.Baseline
	}
	return fmt.Sprintf("%s  %s, %s, tier %s", s, who, against, m.Tier)
}

// counts says how many findings have which status.
func counts(v verdict.Verdict) string {
	var parts []string
	for _, c := range []struct {
		s    verdict.Status
		word string
	}{
		{verdict.Fail, "failed"}, {verdict.Error, "errors"}, {verdict.Inconclusive, "inconclusive"},
		{verdict.Known, "known"}, {verdict.Pass, "passed"},
	} {
		if n := v.Count(c.s); n > 0 || c.s == verdict.Pass {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.word))
		}
	}
	return strings.Join(parts, ", ")
}

// line is one row of the gate table: the worst finding of a check, and how
// many more there are like it.
type line struct {
	verdict.Finding
	more int
}

// lines groups the findings by check and status, keeping the verdict's order.
func lines(v verdict.Verdict) []line {
	at := map[string]int{}
	var out []line
	for _, f := range v.Findings {
		key := f.Check + "/" + f.Status.String()
		if i, ok := at[key]; ok {
			out[i].more++
			continue
		}
		at[key] = len(out)
		out = append(out, line{Finding: f})
	}
	return out
}

func (l line) summary() string {
	if l.more == 0 {
		return l.Summary
	}
	return fmt.Sprintf("%s (and %d more)", l.Summary, l.more)
}

// broken are the lines that keep the run from passing.
func broken(v verdict.Verdict) []line {
	var out []line
	for _, l := range lines(v) {
		if l.Status != verdict.Pass && l.Status != verdict.Known {
			out = append(out, l)
		}
	}
	return out
}

// merged joins the reasons of a check into one entry, so that a list of sixty
// prompts stays one line.
func merged(nc []verdict.Uncovered) []verdict.Uncovered {
	at := map[string]int{}
	more := map[string]int{}
	var out []verdict.Uncovered
	for _, u := range nc {
		if _, ok := at[u.Check]; ok {
			more[u.Check]++
			continue
		}
		at[u.Check] = len(out)
		out = append(out, u)
	}
	for i := range out {
		if n := more[out[i].Check]; n > 0 {
			out[i].Reason += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return out
}
