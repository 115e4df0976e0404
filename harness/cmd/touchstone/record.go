package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/report"
	"touchstone/harness/verdict"
)

type recordCmd struct {
	targetFlags
	suiteFlags
	loadFlags
	As       string `required:"" help:"Name of the baseline." placeholder:"NAME"`
	Append   bool   `help:"Add this launch to the baseline NAME: restart the server, then append; speed needs three launches."`
	Force    bool   `help:"Record even a build that fails the checks which need no baseline, or over an existing baseline."`
	Workload string `help:"Load to record; that of the tier, if absent; none for no load." placeholder:"NAME"`
}

// Run records a baseline. Nothing is stored before both passes are complete.
func (c *recordCmd) Run(a *app) error {
	o, stop, err := a.options(c.targetFlags, c.suiteFlags, "")
	if err != nil {
		return err
	}
	defer stop()
	if o.Workload, err = c.workload(o.Set, cmp.Or(c.Workload, c.Tier)); err != nil {
		return err
	}
	if c.DryRun {
		return dryRun(a, o)
	}
	dir := c.baselineDirs()[0]
	old, err := c.existing(dir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "touchstone-record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // leftovers of a temporary folder
	first, err := c.pass(a, o, filepath.Join(tmp, "1"), verdict.Areas()...)
	if err != nil {
		return err
	}
	if err := c.refuseBroken(a, first); err != nil {
		return err
	}
	if c.Append {
		if err := gate.Append(old, first); err != nil {
			return usage("touchstone record --as NAME without --append records anew", "%w", err)
		}
		return c.store(a, dir, old)
	}
	o.Workload = nil
	second, err := c.pass(a, o, filepath.Join(tmp, "2"), verdict.Coherence, verdict.Tokens, verdict.Anchors, verdict.Context)
	if err != nil {
		return err
	}
	return c.store(a, dir, gate.NewBaseline(c.As, first, second))
}

// existing reads the baseline to append to, and refuses to lose one.
func (c *recordCmd) existing(dir string) (*fixture.Baseline, error) {
	old, err := fixture.ReadBaseline(os.DirFS(dir), dir, c.As)
	switch {
	case c.Append && err != nil:
		return nil, usage("--append adds to a baseline that stands in --baselines", "%w", err)
	case c.Append && old.Tier != c.Tier:
		return nil, usage("--tier "+old.Tier, "baseline %s was recorded at tier %s, and --append at tier %s would compare other prompts", c.As, old.Tier, c.Tier)
	case c.Append || errors.Is(err, fs.ErrNotExist):
		return old, nil
	case c.Force:
		return nil, nil
	case err != nil:
		return nil, usage("--force replaces it", "there is something else where baseline %s would go: %w", c.As, err)
	}
	return nil, usage("another --as NAME, --append for another launch, or --force to replace it", "baseline %s exists already in %s", c.As, dir)
}

// pass runs the areas into a folder and judges it without a baseline.
func (c *recordCmd) pass(a *app, o gate.Options, dir string, areas ...verdict.Area) (*gate.Result, error) {
	o.Out, o.Areas = dir, areas
	if err := runSuites(a.ctx, o, areas...); err != nil {
		return nil, err
	}
	return gate.Judge(dir)
}

// refuseBroken: a baseline of a broken build would disarm every later gate.
func (c *recordCmd) refuseBroken(a *app, r *gate.Result) error {
	if r.Verdict.ExitCode == verdict.ExitPass {
		return nil
	}
	if err := report.Render(a.stderr, model(r), report.Text, terminalWidth(a)); err != nil {
		return err
	}
	if c.Force {
		fmt.Fprintln(a.stderr, "touchstone: recorded all the same, by --force")
		return nil
	}
	return &failure{r.Verdict.ExitCode, errors.New("this build fails checks that need no baseline, so it was not recorded as a good one"),
		"--force records it all the same"}
}

func (c *recordCmd) store(a *app, dir string, b *fixture.Baseline) error {
	path, err := fixture.WriteBaseline(dir, b, c.Append || c.Force)
	if err != nil {
		return usage("name a folder that can be written with --baselines", "%w", err)
	}
	fmt.Fprintf(a.stderr, "touchstone: %s on record, A/A noise %s: %d of %d the same, %d parted at a near-tie, %d otherwise\n",
		plural(len(b.Answers), "answer"), b.Noise.Scope, b.Noise.Identical, b.Noise.Answers, b.Noise.Explained, b.Noise.Unexplained)
	fmt.Fprintln(a.stdout, path)
	return nil
}
