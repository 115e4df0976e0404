package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/probe"
	"touchstone/harness/verdict"
)

// The files of a run folder beside the ones that package exchange writes.
const (
	promptsFile  = "prompts.json"  // the prompts that were run, as they were then
	workloadFile = "workload.json" // the load that was run; absent: none
	baselineDir  = "baseline"      // the baseline that was used; absent: none
	VerdictFile  = "verdict.json"
)

// saveInputs copies what the judgement will need into the run folder, so that
// it can be judged anywhere.
func (r *Run) saveInputs() error {
	if err := saveJSON(r.folder, promptsFile, r.prompts); err != nil {
		return err
	}
	if r.opts.Workload != nil {
		if err := saveJSON(r.folder, workloadFile, r.opts.Workload); err != nil {
			return err
		}
	}
	if r.opts.Baseline != nil {
		if _, err := fixture.WriteBaseline(filepath.Join(r.opts.Out, baselineDir), r.opts.Baseline, false); err != nil {
			return err
		}
	}
	return nil
}

func saveJSON(f *exchange.Run, name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return f.WriteFile(name, append(b, '\n'))
}

// Result is a judged run.
type Result struct {
	Meta     exchange.Meta
	Evidence *probe.Evidence
	Verdict  verdict.Verdict
	Load     *Measured          // nil: no load was run
	Warnings []exchange.Warning // about the folder, not about the build
}

// Evidence reads what a run folder holds.
func Evidence(f *exchange.Run) (*probe.Evidence, []exchange.Warning, error) {
	var prompts []fixture.Prompt
	if err := loadJSON(f.Dir, promptsFile, &prompts); err != nil {
		return nil, nil, err
	}
	var workload *fixture.Workload
	if err := loadJSON(f.Dir, workloadFile, &workload); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	var base *fixture.Baseline
	if f.Meta.Baseline != "" {
		var err error
		dir := filepath.Join(f.Dir, baselineDir)
		if base, err = fixture.ReadBaseline(os.DirFS(dir), dir, f.Meta.Baseline); err != nil {
			return nil, nil, err
		}
	}
	exchanges, warnings, err := f.Exchanges()
	if err != nil {
		return nil, nil, err
	}
	var plan []exchange.Request
	for _, p := range f.Plan {
		plan = append(plan, p.Requests...)
	}
	ev, err := probe.NewEvidence(f.Meta.Target, prompts, workload, plan, exchanges, base)
	return ev, warnings, err
}

func loadJSON(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the run lacks %s: %w", name, err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w; was it edited, or written by another version of Touchstone?", path, err)
	}
	return nil
}

// Judge judges a run folder and writes its verdict.json. The same folder gives
// the same bytes, anywhere and at any time.
func Judge(dir string) (*Result, error) {
	f, err := exchange.OpenRun(dir)
	if err != nil {
		return nil, err
	}
	ev, warnings, err := Evidence(f)
	if err != nil {
		return nil, err
	}
	res := &Result{Meta: f.Meta, Evidence: ev, Verdict: probe.Judge(ev, required(f)), Warnings: warnings}
	if res.Load, err = measure(f, ev, res.Verdict); err != nil {
		return nil, err
	}
	b, err := res.Verdict.JSON()
	if err != nil {
		return nil, err
	}
	return res, f.WriteFile(VerdictFile, b)
}

// required are the areas that a run must have judged: those of its tier, or
// the load alone where nothing else was planned.
func required(f *exchange.Run) []verdict.Area {
	for _, p := range f.Plan {
		if verdict.Area(p.Probe) != verdict.Throughput {
			return verdict.Required()
		}
	}
	return []verdict.Area{verdict.Throughput}
}
