package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/probe"
	"touchstone/harness/report"
	"touchstone/harness/report/table"
	"touchstone/harness/verdict"
	"touchstone/suites"
)

type gateCmd struct {
	targetFlags
	suiteFlags
	loadFlags
	Baseline   string `help:"Baseline to judge against; without one, everything that needs none is run." placeholder:"NAME"`
	ModelAlias string `help:"Name under which the baseline knows the model, where only the name differs." placeholder:"ID"`
	Workload   string `help:"Load to record; that of the tier, if absent; none for no load." placeholder:"NAME"`
	Out        string `help:"Run folder: a new one. Default: reports/<time>." placeholder:"DIR"`
	ReportOnly bool   `help:"Judge and report, and exit 0 whatever was found."`
	Bisect     bool   `help:"Exit codes for git bisect run: 125 skips, 128 stops."`
}

// loadFlags are for the commands that make load.
type loadFlags struct {
	Warmup int `help:"Requests sent before the load and not counted; the workload's own number, if negative." default:"-1"`
	GPUs   int `name:"gpus" help:"GPUs behind the server: adds tokens a second for each."`
}

// workload finds a workload, with the flags' say. Each tier has one of its
// name.
func (f loadFlags) workload(set *fixture.Set, name string) (*fixture.Workload, error) {
	if name == "none" {
		return nil, nil
	}
	w, err := set.Workload(name)
	if err != nil {
		return nil, usage("--workload none makes no load", "%w", err)
	}
	if f.Warmup >= 0 {
		w.Warmup = f.Warmup
	}
	return &w, nil
}

// Run is the gate.
func (c *gateCmd) Run(a *app) error {
	code := verdict.ExitPass
	err := c.run(a)
	if err != nil || c.ReportOnly {
		code = a.exit(err)
	}
	judged := errors.As(err, new(exited))
	switch {
	case c.ReportOnly && judged:
		return nil
	case c.Bisect:
		return exited(verdict.Bisect(code))
	}
	return exited(code)
}

func (c *gateCmd) run(a *app) error {
	o, stop, err := a.options(c.targetFlags, c.suiteFlags, c.Baseline)
	if err != nil {
		return err
	}
	defer stop()
	if o.Workload, err = c.workload(o.Set, cmp.Or(c.Workload, c.Tier)); err != nil {
		return err
	}
	o.ModelAlias, o.GPUs, o.Out = c.ModelAlias, c.GPUs, outDir(c.Out, time.Now())
	if c.DryRun {
		return dryRun(a, o)
	}
	return c.judge(a, o)
}

// judge runs the suites, judges the run folder and reports.
func (c *gateCmd) judge(a *app, o gate.Options) error {
	if err := runSuites(a.ctx, o, verdict.Areas()...); err != nil {
		return kept(a.ctx, o.Out, err)
	}
	res, err := gate.Judge(o.Out)
	if err != nil {
		return err
	}
	m := model(res)
	m.ReportOnly = c.ReportOnly
	if err := writeReports(o.Out, m); err != nil {
		return err
	}
	m.URL = o.Client.BaseURL
	if err := report.Screen(a.stdout, m, terminalWidth(a)); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nrun folder: %s (touchstone report %s shows everything)\n", o.Out, o.Out)
	if res.Verdict.ExitCode == verdict.ExitPass {
		return nil
	}
	return exited(res.Verdict.ExitCode)
}

// kept says, where a run was interrupted, what is left of it.
func kept(ctx context.Context, dir string, err error) error {
	if ctx.Err() == nil || missing(filepath.Join(dir, exchange.ExchangesFile)) {
		return err
	}
	return &failure{verdict.ExitInterrupted, errors.New("interrupted"), "what was recorded so far is kept: touchstone judge " + dir}
}

// runSuites opens a run and runs the specs of the areas over it. Their own
// report, with every spec, goes into the run folder.
func runSuites(ctx context.Context, o gate.Options, areas ...verdict.Area) (err error) {
	r, err := gate.Open(ctx, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	log, err := os.Create(filepath.Join(o.Out, "specs.txt"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	s := suites.Run(ctx, nil, r, log, areas...)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.Panicked != "":
		return fmt.Errorf("a spec panicked, which is a defect of Touchstone: %s", s.Panicked)
	case s.Broken != "":
		return fmt.Errorf("the run could not go on: %s", s.Broken)
	}
	return nil
}

// writeReports puts the report into the run folder, in the formats that people
// pass on.
func writeReports(dir string, m report.Model) error {
	f, err := exchange.OpenRun(dir)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		name   string
		format report.Format
	}{{"report.txt", report.Text}, {"report.md", report.Markdown}} {
		b, err := render(m, r.format, 120)
		if err != nil {
			return err
		}
		if err := f.WriteFile(r.name, b); err != nil {
			return err
		}
	}
	return nil
}

// dryRun prints what would be sent. It asks nobody, so it counts as if the
// server could do everything.
func dryRun(a *app, o gate.Options) error {
	able := exchange.Target{Model: o.Model, TokenizeField: "prompt", Capabilities: map[exchange.Capability]exchange.State{}}
	for _, c := range exchange.Capabilities() {
		able.Capabilities[c] = exchange.Present
	}
	plan, err := gate.Plan(o, able)
	if err != nil {
		return err
	}
	cols := []table.Column{{Title: "area"}, {Title: "requests", Align: table.Right}, {Title: "prompt tokens, about", Align: table.Right}, {Title: "generated tokens, at most", Align: table.Right}}
	var rows [][]string
	add := func(name string, n, in, out int) {
		rows = append(rows, []string{name, fmt.Sprint(n), fmt.Sprint(in), fmt.Sprint(out)})
	}
	n, in, out := 0, 0, 0
	for _, area := range verdict.Areas() {
		rs := plan[area]
		if len(rs) == 0 {
			continue
		}
		i, g := probe.PromptTokensAbout(rs), probe.TokensAtMost(rs)
		add(string(area), len(rs), i, g)
		n, in, out = n+len(rs), in+i, out+g
	}
	add("all", n, in, out)
	if err := table.Render(a.stdout, table.Text, cols, rows, table.Options{MaxWidth: terminalWidth(a)}); err != nil {
		return err
	}
	_, err = io.WriteString(a.stdout, "nothing was sent; finding out what a server can do takes about 15 small requests more, and warm-up comes on top\n")
	return err
}
