package report

import (
	"fmt"
	"io"
	"strings"

	"touchstone/harness/report/table"
	"touchstone/harness/verdict"
)

func renderText(w io.Writer, m Model, width int) error {
	p := &printer{w: w}
	p.line("%s", headline(m))
	p.line("%s", counts(m.Verdict))
	since(p, m)
	for _, c := range m.Verdict.Diagnosis {
		p.line("")
		p.line("Likely cause: %s (confidence: %s)", c.Cause, c.Confidence)
		p.wrap("  ", "because "+c.Because, width)
	}
	for _, l := range broken(m.Verdict) {
		p.finding(l, width)
	}
	p.line("")
	if p.err == nil {
		p.err = gateTable(w, m.Verdict, table.Text, width)
	}
	if m.Load != nil {
		p.line("")
		if p.err == nil {
			p.err = loadTable(w, *m.Load, table.Text, width)
		}
	}
	notCovered(p, m, width)
	return p.err
}

// printer keeps the first error, so that a page is written without a check a
// line.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// wrap breaks a text at blanks; what follows the first line is indented by two
// more columns. A word longer than the line stays whole.
func (p *printer) wrap(indent, text string, width int) {
	cur := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			cur += word
		case len(cur)+1+len(word) > width:
			p.line("%s", cur)
			cur = indent + "  " + word
		default:
			cur += " " + word
		}
	}
	p.line("%s", cur)
}

func (p *printer) finding(l line, width int) {
	p.line("")
	p.wrap("", strings.ToUpper(l.Status.String())+" "+l.Check+": "+l.summary(), width)
	for _, d := range l.Details() {
		p.wrap("  ", fmt.Sprintf("%-9s %s", d.Name, d.Value), width)
	}
	if l.Reproduce != "" {
		// In one piece, whatever the width: it is there to be copied.
		p.line("  %-9s %s", "reproduce", l.Reproduce)
	}
}

// gateTable lists every check, also those that passed.
func gateTable(w io.Writer, v verdict.Verdict, f table.Format, width int) error {
	cols := []table.Column{{Title: "status"}, {Title: "check"}, {Title: "summary"}, {Title: "measured"}, {Title: "limit"}, {Title: "baseline"}}
	var rows [][]string
	for _, l := range lines(v) {
		rows = append(rows, []string{l.Status.String(), l.Check, l.summary(), l.Measured, l.Limit, l.Baseline})
	}
	return table.Render(w, f, cols, rows, table.Options{MaxWidth: width})
}
