package main

import (
	"bytes"
	"fmt"

	"touchstone/harness/gate"
	"touchstone/harness/report"
	"touchstone/harness/verdict"
)

type judgeCmd struct {
	Run_       string `arg:"" name:"run" help:"Run folder."`
	ReportOnly bool   `help:"Judge and report, and exit 0 whatever was found."`
	Bisect     bool   `help:"Exit codes for git bisect run: 125 skips, 128 stops."`
}

// Run judges a saved run again.
func (c *judgeCmd) Run(a *app) error {
	res, err := judge(a, c.Run_)
	if err != nil {
		if c.Bisect {
			return exited(verdict.Bisect(a.exit(err)))
		}
		return err
	}
	m := model(res)
	m.ReportOnly = c.ReportOnly
	if err := report.Screen(a.stdout, m, terminalWidth(a)); err != nil {
		return err
	}
	switch {
	case c.ReportOnly || res.Verdict.ExitCode == verdict.ExitPass:
		return nil
	case c.Bisect:
		return exited(verdict.Bisect(res.Verdict.ExitCode))
	}
	return exited(res.Verdict.ExitCode)
}

func judge(a *app, dir string) (*gate.Result, error) {
	res, err := gate.Judge(dir)
	if gate.DiskFull(err) {
		return nil, err
	}
	if err != nil {
		return nil, usage("a run folder is what gate --out names", "%w", err)
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(a.stderr, "touchstone: warning:", w)
	}
	return res, nil
}

type reportCmd struct {
	Run_   string `arg:"" name:"run" help:"Run folder."`
	Format string `help:"text or md." enum:"text,md" default:"text"`
}

// Run renders a saved run. It judges it first, so that the report never shows
// an old verdict.
func (c *reportCmd) Run(a *app) error {
	res, err := judge(a, c.Run_)
	if err != nil {
		return err
	}
	return report.Render(a.stdout, model(res), report.Format(c.Format), terminalWidth(a))
}

// model is what the report is made from.
func model(res *gate.Result) report.Model {
	m := report.Model{
		Target: res.Meta.Target, Baseline: res.Meta.Baseline, Base: res.Evidence.Baseline, Tier: res.Meta.Tier, Started: res.Meta.Started,
		Verdict: res.Verdict,
	}
	if w := res.Evidence.Workload; res.Load != nil {
		m.Load = &report.Load{Workload: w.Name, Metrics: res.Load.Metrics, GPUs: res.Meta.GPUs, Reference: w.Reference,
			Void: res.Load.Void(false), Server: res.Load.Server, Health: res.Load.Health}
	}
	return m
}

func render(m report.Model, f report.Format, width int) ([]byte, error) {
	var b bytes.Buffer
	err := report.Render(&b, m, f, width)
	return b.Bytes(), err
}
