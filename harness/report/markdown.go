package report

import (
	"io"
	"strings"

	"touchstone/harness/report/table"
)

// mostBroken is how many broken checks a summary shows in full; the table
// below it has all of them.
const mostBroken = 6

func names(ls []line) string {
	var out []string
	for _, l := range ls {
		out = append(out, l.Check)
	}
	return strings.Join(out, ", ")
}

// renderMarkdown writes a summary for a pull request or a job: the verdict
// first, then what broke, then every rule.
func renderMarkdown(w io.Writer, m Model) error {
	p := &printer{w: w}
	p.line("## %s", escape(headline(m)))
	p.line("")
	p.line("%s", counts(m.Verdict))
	for _, c := range m.Verdict.Diagnosis {
		p.line("")
		p.line("**Likely cause: %s** (confidence: %s): %s", escape(c.Cause), c.Confidence, escape(c.Because))
	}
	bad := broken(m.Verdict)
	for i, l := range bad {
		if i == mostBroken {
			p.line("")
			p.line("… and %d more checks: %s", len(bad)-i, escape(names(bad[i:])))
			break
		}
		p.line("")
		p.line("### %s: %s", l.Status, l.Check)
		p.line("")
		p.line("%s", escape(l.summary()))
		p.line("")
		for _, d := range l.Details() {
			p.line("- %s: %s", d.Name, code(d.Value))
		}
		if l.Reproduce != "" {
			p.line("")
			fence := strings.Repeat("`", max(3, longestRun(l.Reproduce, '`')+1))
			p.line("%ssh\n%s\n%s", fence, l.Reproduce, fence)
		}
	}
	p.line("")
	p.line("### All checks")
	p.line("")
	if p.err == nil {
		p.err = gateTable(w, m.Verdict, table.Markdown, 0)
	}
	if m.Load != nil {
		p.line("")
		p.line("### Throughput")
		p.line("")
		if p.err == nil {
			p.err = loadTable(w, *m.Load, table.Markdown, 0)
		}
	}
	if nc := merged(m.Verdict.NotCovered); len(nc) > 0 {
		p.line("")
		p.line("### Not covered")
		p.line("")
		for _, u := range nc {
			p.line("- %s: %s", code(u.Check), escape(u.Reason))
		}
	}
	return p.err
}

// escape keeps a text from being read as Markdown or HTML. Model text is
// anybody's text.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '#', '|', '~', '@', '!':
			b.WriteRune('\\')
			b.WriteRune(r)
		case '\n', '\r':
			b.WriteRune(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code writes a code span that holds any text: a fence longer than any run of
// backquotes in it.
func code(s string) string {
	s = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.TrimSpace(s) == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

func longestRun(s string, c rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
