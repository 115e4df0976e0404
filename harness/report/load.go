package report

import (
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"touchstone/harness/fixture"
	"touchstone/harness/load"
	"touchstone/harness/report/table"
	"touchstone/harness/scrape"
)

// loadTable writes what a load measured: totals, beside somebody else's result
// of the same workload where there is one, then the latencies.
func loadTable(w io.Writer, l Load, f table.Format, width int) error {
	if err := voids(w, l, f, width); err != nil {
		return err
	}
	cols := []table.Column{{Title: "workload " + l.Workload}, {Title: "this run", Align: table.Right}}
	if l.Reference != nil {
		cols = append(cols, table.Column{Title: "reference", Align: table.Right})
	}
	var rows [][]string
	for _, r := range totals(l) {
		row := []string{r.name, r.value}
		if l.Reference != nil {
			row = append(row, r.reference)
		}
		rows = append(rows, row)
	}
	if err := table.Render(w, f, cols, rows, table.Options{MaxWidth: width}); err != nil {
		return err
	}
	p := &printer{w: w}
	if l.Reference != nil {
		note(p, f, "reference: "+l.Reference.Source)
	}
	p.line("")
	if p.err != nil {
		return p.err
	}
	return latencyTable(w, l.Metrics, f, width)
}

// voids says that the numbers below mean nothing, and why.
func voids(w io.Writer, l Load, f table.Format, width int) error {
	p := &printer{w: w}
	for _, v := range l.Void {
		text := "VOID " + v.Reason + ": " + v.Text
		if f == table.Markdown {
			p.line("- **VOID** %s: %s", v.Reason, escape(v.Text))
			continue
		}
		p.wrap("", text, width)
	}
	if len(l.Void) > 0 {
		p.line("")
	}
	return p.err
}

// plateau are the numbers under full load, or why there are none.
func plateau(m load.Metrics) []total {
	p := m.Plateau
	if p == nil {
		return nil
	}
	rows := []total{
		{name: "plateau, from / to, s", value: fmt.Sprintf("%.1f / %.1f", p.StartS, p.StartS+p.Seconds)},
		{name: "output tokens a second in it", value: decimal(p.OutputTokensPerS, 1)},
		{name: "prompt and output tokens a second in it", value: decimal(p.TotalTokensPerS, 1)},
	}
	if t := p.Trend; t != nil {
		rows = append(rows, total{name: "drift over it", value: fmt.Sprintf("%+.1f %%", 100*t.Change)})
	}
	return rows
}

// counted are the server's own numbers, those that it tells.
func counted(s scrape.Server) []total {
	var rows []total
	for _, r := range []struct {
		name   string
		v      *float64
		digits int
	}{
		{"tokens out by the server's /metrics", s.OutputTokens, 0},
		{"TTFT mean by the server, ms", s.TTFT, 1},
		{"TPOT mean by the server, ms", s.TPOT, 2},
		{"prefix cache hits by the server", s.CachedShare, 2},
		{"tokens a step by drafts", s.AcceptanceLength, 2},
		{"drafted tokens accepted", s.AcceptanceRate, 2},
	} {
		if r.v != nil {
			rows = append(rows, total{name: r.name, value: decimal(r.v, r.digits)})
		}
	}
	if s.Preemptions != nil && *s.Preemptions > 0 {
		rows = append(rows, total{name: "preemptions by the server", value: decimal(s.Preemptions, 0)})
	}
	return rows
}

// limits writes SLOs by name: "ttft_ms ≤ 200, tpot_ms ≤ 20".
func limits(slo map[string]float64) string {
	var parts []string
	for name, v := range slo {
		parts = append(parts, fmt.Sprintf("%s ≤ %g", name, v))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

type total struct{ name, value, reference string }

func totals(l Load) []total {
	m := l.Metrics
	rows := []total{
		{name: "requests ok", value: fmt.Sprintf("%d/%d", m.Successes, m.Requests)},
		{name: "wall clock, s", value: decimal(m.Seconds, 2)},
		{name: "requests a second", value: decimal(m.RequestsPerS, 2)},
		{name: "output tokens a second", value: decimal(m.OutputTokensPerS, 1)},
		{name: "latency mean, s", value: seconds(m.E2EL, func(l *load.Latency) float64 { return l.Mean })},
		{name: "latency p50, s", value: seconds(m.E2EL, func(l *load.Latency) float64 { return l.P50 })},
		{name: "latency p99, s", value: seconds(m.E2EL, func(l *load.Latency) float64 { return l.P99 })},
		{name: "tokens in", value: whole(m.PromptTokens)},
		{name: "tokens out", value: whole(m.OutputTokens)},
		{name: "tokens a reply, min / mean / max", value: lengths(m.Lengths)},
		{name: "in flight, mean / peak", value: decimal(m.MeanInFlight, 1) + " / " + strconv.Itoa(m.PeakInFlight)},
		{name: "cached share of the prompts", value: decimal(m.CachedShare, 2)},
		{name: "tokens counted by", value: m.TokenSource},
	}
	rows = append(rows, plateau(m)...)
	if g := m.Goodput; g != nil {
		rows = append(rows, total{name: "goodput: " + limits(g.SLO), value: fmt.Sprintf("%.0f %%, %s a second", 100*g.Share, decimal(g.PerS, 2))})
	}
	if n := m.TokensPerChunk; n != nil {
		rows = append(rows, total{name: "tokens a chunk", value: decimal(n, 2)})
	}
	if s := l.Server; s != nil {
		rows = append(rows, counted(*s)...)
	}
	if h := l.Health; h != nil {
		rows = append(rows, total{name: "client: CPU / lag p99, ms", value: fmt.Sprintf("%.0f %% of %d cores / %.1f", 100*h.CPUShare, h.Cores, h.LagP99MS)})
	}
	if l.GPUs > 0 {
		rows = append(rows, total{name: fmt.Sprintf("output tokens a second and GPU (%d)", l.GPUs), value: decimal(m.PerGPU(l.GPUs), 1)})
	}
	classes := make([]string, 0, len(m.Failures))
	for c, n := range m.Failures {
		if n > 0 {
			classes = append(classes, fmt.Sprintf("%s %d", c, n))
		}
	}
	if len(classes) > 0 {
		sort.Strings(classes)
		rows = append(rows, total{name: "failed", value: strings.Join(classes, ", ")})
	}
	if r := l.Reference; r != nil {
		for i, v := range reference(*r) {
			rows[i].reference = v
		}
	}
	return rows
}

// reference are the reference's values of the first rows of totals.
func reference(r fixture.Reference) []string {
	f := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	return []string{
		fmt.Sprintf("%d/%d", r.OK, r.Requests), f(r.Seconds, 2), f(r.RequestsPerS, 2), f(r.OutputTokensPerS, 1),
		f(r.LatencyMeanS, 2), f(r.LatencyP50S, 2), f(r.LatencyP99S, 2), strconv.Itoa(r.PromptTokens), strconv.Itoa(r.OutputTokens),
	}
}

func latencyTable(w io.Writer, m load.Metrics, f table.Format, width int) error {
	cols := []table.Column{{Title: "milliseconds"}}
	for _, t := range []string{"mean", "p50", "p90", "p99", "p99, 95 % interval"} {
		cols = append(cols, table.Column{Title: t, Align: table.Right})
	}
	var rows [][]string
	for _, r := range []struct {
		name, key string
		l         *load.Latency
	}{
		{"TTFT (to the first token)", "ttft_ms", m.TTFT},
		{"TPOT (a token after the first)", "tpot_ms", m.TPOT},
		{"ITL (gap between chunks)", "itl_ms", m.ITL},
		{"E2EL (to the last token)", "e2el_ms", m.E2EL},
		{"E2EL of a token of the reply", "", m.Normal},
		{"lag of the client's send", "", m.ClientLag},
	} {
		if r.l == nil {
			if r.key == "" {
				continue // what is missing follows from the lines above
			}
			why := m.NotMeasured[r.key]
			if why == "" {
				why = "not measured"
			}
			rows = append(rows, []string{r.name + ": " + why, "–", "–", "–", "–", "–"})
			continue
		}
		rows = append(rows, []string{r.name, ms(r.l.Mean), ms(r.l.P50), ms(r.l.P90), ms(r.l.P99), interval(r.l.P99Interval)})
	}
	if err := table.Render(w, f, cols, rows, table.Options{MaxWidth: width}); err != nil {
		return err
	}
	p := &printer{w: w}
	for _, warning := range m.Warnings {
		note(p, f, "warning: "+warning)
	}
	return p.err
}

// note writes a line below a table. In Markdown a line that follows a table at
// once would become a row of it.
func note(p *printer, f table.Format, text string) {
	if f == table.Markdown {
		p.line("")
		text = escape(text)
	}
	p.line("%s", text)
}

func ms(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func interval(i *load.Interval) string {
	switch {
	case i == nil:
		return "–"
	case i.Lo == nil && i.Hi == nil:
		return fmt.Sprintf("needs %d values", i.Needs)
	case i.Lo == nil:
		return "… to " + ms(*i.Hi)
	case i.Hi == nil:
		return ms(*i.Lo) + " or more"
	}
	return ms(*i.Lo) + " to " + ms(*i.Hi)
}

func decimal(v *float64, digits int) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

func whole(v *int) string {
	if v == nil {
		return "–"
	}
	return strconv.Itoa(*v)
}

func seconds(l *load.Latency, of func(*load.Latency) float64) string {
	if l == nil {
		return "–"
	}
	return strconv.FormatFloat(of(l)/1000, 'f', 2, 64)
}

func lengths(l *load.Lengths) string {
	if l == nil {
		return "–"
	}
	return fmt.Sprintf("%d / %.1f / %d", l.Min, l.Mean, l.Max)
}
