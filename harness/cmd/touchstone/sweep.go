package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/load"
	"touchstone/harness/report"
	"touchstone/harness/verdict"
)

// sweepFile is the result of a sweep, beside the run folders of its steps.
const sweepFile = "sweep.json"

// sweep is a parsed --sweep: some values, or a range to search.
type sweep struct {
	what   string // rate or concurrency
	values []float64
	search *load.Search

	repeated float64 // the last value of the search that was tried again
}

func parseSweep(s string) (*sweep, error) {
	bad := func(why string, args ...any) (*sweep, error) {
		return nil, usage("write --sweep concurrency=1,2,4, --sweep rate=2,4,8 or --sweep rate=1..64", "--sweep %q: "+why, append([]any{s}, args...)...)
	}
	what, list, ok := strings.Cut(s, "=")
	if !ok || what != "rate" && what != "concurrency" {
		return bad("it begins with neither rate= nor concurrency=")
	}
	out := &sweep{what: what}
	whole := what == "concurrency"
	number := func(s string) (float64, bool) {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return v, err == nil && v > 0 && !math.IsInf(v, 0) && (!whole || v == math.Trunc(v))
	}
	if lo, hi, found := strings.Cut(list, ".."); found {
		l, ok := number(lo)
		h, too := number(hi)
		if !ok || !too || l >= h {
			return bad("%q is no range of numbers above 0", list)
		}
		out.search = &load.Search{Lo: l, Hi: h, Whole: whole}
		return out, nil
	}
	for _, part := range strings.Split(list, ",") {
		v, ok := number(part)
		if !ok {
			return bad("%q is no number above 0", part)
		}
		out.values = append(out.values, v)
	}
	return out, nil
}

// next returns the value of the next step.
func (s *sweep) next(done int) (float64, bool) {
	if s.search != nil {
		return s.search.Next()
	}
	if done < len(s.values) {
		return s.values[done], true
	}
	return 0, false
}

// again says whether a step of a search has to be repeated: nothing was learnt
// from it, and it is the first one at its value.
func (s *sweep) again(v float64, st load.Step) bool {
	if s.repeated == v || !unmeasured(st.Void) {
		return false
	}
	s.repeated = v
	return true
}

// unmeasured says whether a load is void for reasons that are not the
// server's: the client was slow, or the load unsteady.
func unmeasured(vs []load.Void) bool {
	for _, v := range vs {
		if v.Incorrect || v.Reason == load.VoidFailed || v.Reason == load.VoidUnfinished {
			return false
		}
	}
	return len(vs) > 0
}

// with returns the workload at one value. A closed loop gets enough requests
// for a plateau: four for each slot.
func (s *sweep) with(w fixture.Workload, v float64, fixed bool) fixture.Workload {
	if s.what == "rate" {
		w.Rate = v
		return w
	}
	w.Concurrency = int(v)
	if !fixed && w.Duration == 0 {
		w.Requests = max(w.Requests, 4*w.Concurrency)
	}
	return w
}

// sweep runs the load at one value after the other. Each step is a run folder
// of its own below --out, with nonces of its own.
func (c *benchCmd) sweep(a *app, o gate.Options, s *sweep) error {
	switch {
	case s.what == "rate" && o.Workload.Arrival == fixture.Replay, s.what == "concurrency" && o.Workload.Open():
		return usage("sweep the other one, or leave out what makes the load", "--sweep %s: this load arrives otherwise (%s)", c.Sweep, o.Workload.Arrival)
	case s.search != nil && len(o.Workload.SLO) == 0:
		return usage("give --slo ttft=200ms,tpot=20ms, or values instead of a range", "--sweep %s searches for what meets an SLO, and there is none", c.Sweep)
	case c.SLOShare <= 0 || c.SLOShare > 1:
		return usage("0.99 lets one request of a hundred miss", "--slo-share %v is no share", c.SLOShare)
	}
	result := report.Sweep{What: s.what, Workload: o.Workload.Name, SLO: o.Workload.SLO, Share: c.SLOShare, Search: s.search != nil}
	out, base, code := o.Out, *o.Workload, verdict.ExitPass
	for v, more := s.next(0); more; v, more = s.next(len(result.Steps)) {
		w := s.with(base, v, c.Requests > 0)
		if ps := w.Problems(); len(ps) > 0 {
			return usage("docs/workloads.md lists the fields", "%s at %s %v: %s", w.Where(), s.what, v, ps[0].Text)
		}
		o.Workload, o.Salt = &w, o.Salt+1
		o.Out = filepath.Join(out, fmt.Sprintf("%02d-%s-%s", len(result.Steps)+1, s.what, strconv.FormatFloat(v, 'f', -1, 64)))
		o.Load = load.NewProgress(a.stderr, isTerminal(a.stderr))
		if c.DryRun {
			return dryRun(a, o)
		}
		fmt.Fprintf(a.stderr, "touchstone: step %d: %s %.4g\n", len(result.Steps)+1, s.what, v)
		m, stepCode, err := c.measure(a, o)
		if err != nil {
			return err
		}
		step := c.step(v, filepath.Base(o.Out), m)
		if stepCode == verdict.ExitRegression && (len(step.Void) == 0 || incorrect(step.Void)) {
			code = verdict.ExitRegression // under load it says something else
		}
		result.Steps = append(result.Steps, step)
		if s.search != nil && !s.again(v, step) {
			s.search.Tell(v, step.Missed == "")
		}
	}
	if s.search != nil {
		best, bounded := s.search.Best()
		result.Best, result.Bounded = best, bounded
		if best == 0 && code == verdict.ExitPass {
			code = verdict.ExitInconclusive // nothing was found
		}
	}
	if err := writeSweep(out, result); err != nil {
		return err
	}
	if err := report.RenderSweep(a.stdout, result, terminalWidth(a)); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nrun folders: %s (%s)\n", out, sweepFile)
	return exited(code)
}

// step says whether a load met the SLO. What failed, and what is void, did not.
func (c *benchCmd) step(v float64, dir string, m report.Model) load.Step {
	st := load.Step{Value: v, Dir: dir}
	if m.Load == nil {
		st.Missed = "nothing was measured"
		return st
	}
	st.Metrics, st.Void = m.Load.Metrics, m.Load.Void
	st.Metrics.Formulas = nil // they stand in the run folder of each step
	switch g := st.Metrics.Goodput; {
	case len(st.Void) > 0:
		st.Missed = "void: " + st.Void[0].Reason
	case st.Metrics.Successes < st.Metrics.Requests:
		st.Missed = fmt.Sprintf("%d failed", st.Metrics.Requests-st.Metrics.Successes)
	case g != nil && g.Share < c.SLOShare:
		st.Missed = "missed"
	}
	return st
}

func incorrect(vs []load.Void) bool {
	for _, v := range vs {
		if v.Incorrect {
			return true
		}
	}
	return false
}

func writeSweep(dir string, r report.Sweep) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sweepFile), append(b, '\n'), 0o644)
}
