package report

import (
	"fmt"
	"io"
	"strconv"

	"touchstone/harness/fixture"
	"touchstone/harness/load"
	"touchstone/harness/report/table"
)

// Sweep is a workload at several rates or concurrencies.
type Sweep struct {
	What     string      `json:"what"` // rate or concurrency
	Workload string      `json:"workload"`
	SLO      fixture.SLO `json:"slo_ms,omitempty"`
	Share    float64     `json:"slo_share"` // of requests that have to meet it
	Search   bool        `json:"search"`
	Best     float64     `json:"best,omitempty"`    // of a search: the highest value that met the SLO; 0: none
	Bounded  bool        `json:"bounded,omitempty"` // a higher value was tried and did not
	Steps    []load.Step `json:"steps"`             // in the order in which they ran
}

// RenderSweep writes a sweep's table, and what a search found.
func RenderSweep(w io.Writer, s Sweep, width int) error {
	what := s.What
	if what == "concurrency" {
		what = "in flight"
	}
	cols := []table.Column{{Title: what, Align: table.Right}}
	for _, t := range []string{"ok", "req/s", "out tok/s", "TTFT p50", "p99", "TPOT p50", "p99"} {
		cols = append(cols, table.Column{Title: t, Align: table.Right})
	}
	if len(s.SLO) > 0 {
		cols = append(cols, table.Column{Title: "good", Align: table.Right})
	}
	cols = append(cols, table.Column{Title: ""})
	var rows [][]string
	for _, st := range s.Steps {
		m := st.Metrics
		row := []string{
			strconv.FormatFloat(st.Value, 'g', 4, 64), fmt.Sprintf("%d/%d", m.Successes, m.Requests),
			decimal(m.RequestsPerS, 2), decimal(m.OutputTokensPerS, 0),
			quantile(m.TTFT, false), quantile(m.TTFT, true), quantile(m.TPOT, false), quantile(m.TPOT, true),
		}
		if len(s.SLO) > 0 {
			good := "–"
			if m.Goodput != nil {
				good = strconv.FormatFloat(100*m.Goodput.Share, 'f', 1, 64) + " %"
			}
			row = append(row, good)
		}
		rows = append(rows, append(row, mark(s, st)))
	}
	fmt.Fprintf(w, "workload %s, latencies in milliseconds\n", s.Workload) //nolint:errcheck // the table's error says it
	if err := table.Render(w, table.Text, cols, rows, table.Options{MaxWidth: width}); err != nil {
		return err
	}
	p := &printer{w: w}
	switch {
	case !s.Search:
	case s.Best == 0:
		p.line("no %s met the SLO for %.4g %% of the requests", s.What, 100*s.Share)
	case s.Bounded:
		p.line("highest %s that met the SLO for %.4g %% of the requests: %.4g", s.What, 100*s.Share, s.Best)
	default:
		p.line("every %s that was tried met the SLO, up to %.4g: the highest one lies beyond", s.What, s.Best)
	}
	if n := s.void(); s.Search && n > 0 {
		p.line("%d of %d steps were void, and count as not met where they were void twice", n, len(s.Steps))
	}
	return p.err
}

func (s Sweep) void() int {
	n := 0
	for _, st := range s.Steps {
		if len(st.Void) > 0 {
			n++
		}
	}
	return n
}

// mark says how a step stands to the SLO, or why it is void.
func mark(s Sweep, st load.Step) string {
	switch {
	case st.Missed != "":
		return st.Missed
	case len(s.SLO) > 0:
		return "met"
	}
	return ""
}

func quantile(l *load.Latency, tail bool) string {
	switch {
	case l == nil:
		return "–"
	case tail:
		return ms(l.P99)
	}
	return ms(l.P50)
}
