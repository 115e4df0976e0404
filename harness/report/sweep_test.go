package report

import (
	"strings"
	"testing"

	"touchstone/harness/fixture"
	"touchstone/harness/load"
)

func TestRenderSweep(t *testing.T) {
	rate := 3.5
	step := func(v float64, share float64, missed string, void ...load.Void) load.Step {
		return load.Step{Value: v, Missed: missed, Void: void,
			Metrics: load.Metrics{Requests: 10, Successes: 10, RequestsPerS: &rate, Goodput: &load.Goodput{Share: share}}}
	}
	s := Sweep{What: "rate", Workload: "w", SLO: fixture.SLO{"ttft_ms": 200}, Share: 0.99, Search: true, Best: 4, Bounded: true, Steps: []load.Step{
		step(1, 1, ""), step(16, 0.5, "missed"), step(4, 1, ""), step(8, 0.9, "void: client-lag", load.Void{Reason: load.VoidLag}),
	}}
	show := func() string {
		var b strings.Builder
		if err := RenderSweep(&b, s, 100); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := show()
	for _, want := range []string{
		"workload w", "10/10", "3.50", "50.0 %", "missed", "met", "void: client-lag",
		"highest rate that met the SLO for 99 % of the requests: 4", "1 of 4 steps were void",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if s.Best, s.Bounded = 0, true; !strings.Contains(show(), "no rate met the SLO") {
		t.Errorf("nothing was met:\n%s", show())
	}
	if s.Best, s.Bounded = 16, false; !strings.Contains(show(), "up to 16: the highest one lies beyond") {
		t.Errorf("all was met:\n%s", show())
	}
	if s.Search, s.SLO = false, nil; strings.Contains(show(), "SLO") || strings.Contains(show(), "good") {
		t.Errorf("without an SLO:\n%s", show())
	}
}
