package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/report/table"
	"touchstone/harness/verdict"
)

// Screen writes what fits on one screen: the verdict, the likely cause, since
// which build, what broke, one example with the command that repeats it, and
// what was not covered. The format Text has everything.
func Screen(w io.Writer, m Model, width int) error {
	p := &printer{w: w}
	p.line("%s", headline(m))
	p.line("%s", counts(m.Verdict))
	since(p, m)
	for _, c := range m.Verdict.Diagnosis {
		p.line("")
		p.line("Likely cause: %s (confidence: %s)", c.Cause, c.Confidence)
		p.wrap("  ", "because "+c.Because, width)
	}
	bad := broken(m.Verdict)
	if len(bad) > 0 {
		p.line("")
		if p.err == nil {
			p.err = brokenTable(w, bad, width)
		}
		example(p, m, bad, width)
	}
	if m.Load != nil {
		p.line("")
		text := loadLine(*m.Load)
		if m.Verdict.Status == verdict.Fail {
			text += "; the speed of a broken build means nothing"
		}
		p.wrap("", text, width)
	}
	notCovered(p, m, width)
	return p.err
}

// since says what is compared with what.
func since(p *printer, m Model) {
	if m.Base == nil {
		return
	}
	p.line("  baseline   %s, recorded %s", identity(m.Base.Target), m.Base.Recorded.UTC().Format(time.RFC3339))
	p.line("  candidate  %s, run %s", identity(m.Target), m.Started.UTC().Format(time.RFC3339))
}

func identity(t exchange.Target) string {
	s := t.Engine
	if t.Version != "" {
		s += " " + t.Version
	}
	if t.Fingerprint != "" {
		s += " (" + t.Fingerprint + ")"
	}
	return s
}

// brokenTable has a row a check; the text checks share one, since gibberish
// trips many of them and their number says nothing.
func brokenTable(w io.Writer, bad []line, width int) error {
	cols := []table.Column{{Title: "status"}, {Title: "check"}, {Title: "times", Align: table.Right}, {Title: "measured"}, {Title: "limit"}, {Title: "baseline"}}
	var rows [][]string
	texts, times := []string{}, 0
	for _, l := range bad {
		name, isText := strings.CutPrefix(l.Check, string(verdict.Coherence)+".")
		if isText && l.Status == verdict.Fail && l.Check != verdict.CoherenceMostly {
			texts, times = append(texts, name), times+1+l.more
			continue
		}
		rows = append(rows, []string{l.Status.String(), l.Check, strconv.Itoa(1 + l.more), short(l.Measured), short(l.Limit), short(l.Baseline)})
	}
	if len(texts) > 0 {
		rows = append(rows, []string{verdict.Fail.String(), "coherence", strconv.Itoa(times), strings.Join(texts, ", "), "none", ""})
	}
	if width < narrow {
		// What is left must have room for whole words.
		cols = slices.Concat(cols[:2], cols[3:5])
		for i, r := range rows {
			rows[i] = slices.Concat(r[:2], r[3:5])
		}
	}
	return table.Render(w, table.Text, cols, rows, table.Options{MaxWidth: width})
}

// narrow is a terminal on which the table loses two columns.
const narrow = 100

// shortRunes keeps a cell to two or three lines of a narrow column.
const shortRunes = 60

func short(s string) string {
	r := []rune(s)
	if len(r) <= shortRunes {
		return s
	}
	return string(r[:shortRunes-1]) + "…"
}

// telling is the order in which a check's example says most to a person: a
// question with a wrong answer first.
var telling = []string{
	verdict.ServerDied, verdict.AnchorsRegression, verdict.AnchorsAnswers, verdict.ContextSameAnswer,
	verdict.ContextConstant, verdict.ContextInsensitive, verdict.TokensBaseline,
}

// example shows one broken check in full.
func example(p *printer, m Model, bad []line, width int) {
	best := slices.MinFunc(bad, func(a, b line) int { return rankOf(a) - rankOf(b) })
	p.line("")
	p.wrap("", best.Check+": "+best.summary(), width)
	for _, d := range best.Details() {
		p.wrap("  ", fmt.Sprintf("%-9s %s", d.Name, d.Value), width)
	}
	if best.Reproduce != "" {
		p.line("  reproduce (TOUCHSTONE_TARGET is %s):", orElse(m.URL, "the server's address"))
		p.line("%s", best.Reproduce)
	}
}

func rankOf(l line) int {
	if l.Status != verdict.Fail {
		return 2 * len(telling)
	}
	if i := slices.Index(telling, l.Check); i >= 0 {
		return i
	}
	return len(telling)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// loadLine is the load in one sentence.
func loadLine(l Load) string {
	m := l.Metrics
	s := fmt.Sprintf("Load %s: %d/%d ok, %s output tok/s, %s req/s", l.Workload, m.Successes, m.Requests, decimal(m.OutputTokensPerS, 1), decimal(m.RequestsPerS, 2))
	if m.TTFT != nil {
		s += fmt.Sprintf(", TTFT p50 %s ms", ms(m.TTFT.P50))
	}
	if m.TPOT != nil {
		s += fmt.Sprintf(", TPOT p50 %s ms", ms(m.TPOT.P50))
	}
	if m.E2EL != nil {
		s += fmt.Sprintf(", E2EL p50 %s ms, p99 %s ms", ms(m.E2EL.P50), ms(m.E2EL.P99))
	}
	return s + "; recorded, not judged"
}

func notCovered(p *printer, m Model, width int) {
	nc := merged(m.Verdict.NotCovered)
	if len(nc) == 0 {
		return
	}
	p.line("")
	p.line("Not covered:")
	for _, u := range nc {
		p.wrap("  ", "- "+u.Check+": "+u.Reason, width)
	}
}
