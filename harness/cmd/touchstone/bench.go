package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/report"
	"touchstone/harness/verdict"
)

type benchCmd struct {
	targetFlags
	loadFlags
	shapeFlags
	Workload    string   `help:"Workload to run; founding, if absent." placeholder:"NAME"`
	Sweep       string   `help:"Run once at each value: concurrency=1,2,4 or rate=2,4,8; or look for the highest value that meets --slo: rate=1..64." placeholder:"WHAT"`
	SLOShare    float64  `name:"slo-share" help:"Share of requests that have to meet --slo in a sweep." default:"0.99"`
	MaxRequests int      `help:"Requests at most."`
	MaxTokens   int      `help:"Tokens generated in the whole run at most."`
	Fixtures    []string `help:"Folder with more prompts/ and workloads/." placeholder:"DIR" sep:"none"`
	Out         string   `help:"Run folder: a new one. Default: reports/<time>." placeholder:"DIR"`
	DryRun      bool     `help:"Print what would be sent, and send nothing."`
}

// shapeFlags change a workload's load. What they leave out stays as the
// workload has it.
type shapeFlags struct {
	Requests     int           `help:"Requests; the workload's own number, if 0. With --duration: at most."`
	Concurrency  int           `help:"Requests in flight at most; the workload's own number, if 0, and no limit with --rate or --trace."`
	Duration     time.Duration `help:"Send for so long instead of a number of requests."`
	Rate         float64       `help:"Requests a second, whatever is in flight (open loop)." placeholder:"R"`
	Arrival      string        `help:"closed, constant, poisson or gamma; poisson, if absent, with --rate." placeholder:"KIND"`
	Burstiness   float64       `help:"Shape of gamma arrivals: under 1 bursts, 1 is poisson, above 1 evens out." placeholder:"K"`
	Ramp         time.Duration `help:"Let the rate, or the requests in flight, grow evenly for so long."`
	SLO          string        `name:"slo" help:"Limits for goodput: ttft=200ms,tpot=20ms; also e2el and normalized (E2EL a token)." placeholder:"LIMITS"`
	Trace        string        `help:"Replay a trace: JSON Lines with time, prompt or prompt_tokens, max_tokens." placeholder:"FILE"`
	PromptTokens int           `help:"Length of each prompt in tokens, chat template included."`
	OutputTokens int           `help:"max_tokens of each request."`
}

// apply changes the workload. The first thing that is wrong is the error.
func (f shapeFlags) apply(w *fixture.Workload) error {
	if f.Requests < 0 || f.Concurrency < 0 || f.PromptTokens < 0 || f.OutputTokens < 0 {
		return usage("leave it out for the workload's own number", "--requests, --concurrency, --prompt-tokens and --output-tokens are not negative")
	}
	if err := f.replay(w); err != nil {
		return err
	}
	f.arrivals(w)
	if f.Requests > 0 || f.Duration != 0 {
		w.Requests, w.Duration = f.Requests, cmp.Or(f.Duration, w.Duration)
	}
	if f.Concurrency > 0 {
		w.Concurrency = f.Concurrency
	}
	w.Ramp = cmp.Or(f.Ramp, w.Ramp)
	f.lengths(w)
	if err := f.limits(w); err != nil {
		return err
	}
	if ps := w.Problems(); len(ps) > 0 {
		return usage("touchstone bench --help lists the flags, docs/workloads.md the fields", "%s as the flags have it: %s", w.Where(), ps[0].Text)
	}
	return nil
}

// arrivals makes an open loop, or a closed one.
func (f shapeFlags) arrivals(w *fixture.Workload) {
	switch {
	case f.Arrival != "":
		w.Arrival = f.Arrival
	case f.Burstiness != 0:
		w.Arrival = fixture.Gamma
	case f.Rate != 0 && !w.Open():
		w.Arrival = fixture.Poisson
	}
	switch {
	case !w.Open():
		w.Rate = f.Rate // a contradiction, which is told
	case f.Rate != 0:
		w.Rate, w.Concurrency = f.Rate, 0
	}
	if w.Burstiness = cmp.Or(f.Burstiness, w.Burstiness); w.Arrival != fixture.Gamma {
		w.Burstiness = f.Burstiness
	}
}

// replay puts a trace in the place of the workload's prompts and times.
func (f shapeFlags) replay(w *fixture.Workload) error {
	if f.Trace == "" {
		return nil
	}
	trace, err := fixture.ReadTrace(f.Trace)
	if err != nil {
		return usage("docs/workloads.md shows the lines of a trace", "%w", err)
	}
	if f.PromptTokens > 0 || f.OutputTokens > 0 {
		return usage("leave them out", "--prompt-tokens and --output-tokens contradict --trace, which tells the lengths")
	}
	*w = fixture.Workload{
		Name: "trace", About: "replay of " + f.Trace, API: w.API, Stream: w.Stream, MaxTokens: 1, Temperature: w.Temperature,
		Warmup: w.Warmup, Seed: w.Seed, Tags: w.Tags, SLO: w.SLO, Arrival: fixture.Replay, Trace: trace,
	}
	for _, t := range trace {
		w.MaxTokens = max(w.MaxTokens, t.MaxTokens)
		w.IgnoreEOS = w.IgnoreEOS || t.PromptTokens > 0 // lengths are all that such a trace tells
	}
	return nil
}

func (f shapeFlags) lengths(w *fixture.Workload) {
	if f.OutputTokens > 0 {
		for i := range w.Lengths {
			w.Lengths[i].MaxTokens = f.OutputTokens
		}
		if len(w.Lengths) == 0 {
			w.MaxTokens = f.OutputTokens
		}
	}
	if f.PromptTokens > 0 {
		for _, l := range w.Lengths {
			w.MaxTokens = max(w.MaxTokens, l.MaxTokens)
		}
		w.Lengths, w.PromptTokens = nil, f.PromptTokens
	}
}

// limits reads --slo.
func (f shapeFlags) limits(w *fixture.Workload) error {
	if f.SLO == "" {
		return nil
	}
	w.SLO = fixture.SLO{}
	for _, part := range strings.Split(f.SLO, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		d, err := time.ParseDuration(value)
		if !ok || err != nil {
			return usage("write --slo ttft=200ms,tpot=20ms", "--slo: %q is no limit", part)
		}
		w.SLO[strings.TrimSuffix(name, "_ms")+"_ms"] = float64(d) / float64(time.Millisecond)
	}
	return nil
}

// Run measures throughput. The load's own outputs are read: numbers of a server
// that talks gibberish, or whose requests failed, are void.
func (c *benchCmd) Run(a *app) error {
	var steps *sweep
	if c.Sweep != "" {
		s, err := parseSweep(c.Sweep)
		if err != nil {
			return err
		}
		if steps = s; s.what == "rate" && c.Rate == 0 {
			c.Rate, _ = s.next(0)
		}
	}
	s := suiteFlags{Tier: fixture.TierStandard, Fixtures: c.Fixtures, MaxRequests: c.MaxRequests, MaxTokens: c.MaxTokens, Concurrency: 1, DryRun: c.DryRun}
	o, stop, err := a.options(c.targetFlags, s, "")
	if err != nil {
		return err
	}
	defer stop()
	name := "founding"
	if c.Trace != "" {
		name = fixture.TierStandard // for how it asks, not for what
	}
	if o.Workload, err = c.workload(o.Set, cmp.Or(c.Workload, name)); err != nil {
		return err
	}
	if o.Workload == nil {
		return usage("bench without a load measures nothing", "--workload none")
	}
	if err := c.apply(o.Workload); err != nil {
		return err
	}
	o.GPUs, o.Areas, o.Out = c.GPUs, []verdict.Area{verdict.Throughput}, outDir(c.Out, time.Now())
	o.Tell = func(note string) { fmt.Fprintln(a.stderr, "touchstone: note:", note) }
	if steps != nil {
		return c.sweep(a, o, steps)
	}
	if c.DryRun {
		return dryRun(a, o)
	}
	m, code, err := c.measure(a, o)
	if err != nil {
		return err
	}
	if err := report.RenderLoad(a.stdout, m, terminalWidth(a)); err != nil {
		return err
	}
	c.shortened(a, *o.Workload, m)
	fmt.Fprintf(a.stdout, "\nrun folder: %s\n", o.Out)
	return exited(code)
}

// measure runs one load and judges it.
func (c *benchCmd) measure(a *app, o gate.Options) (m report.Model, code int, err error) {
	if err := runSuites(a.ctx, o, verdict.Throughput); err != nil {
		return m, 0, kept(a.ctx, o.Out, err)
	}
	res, err := gate.Judge(o.Out)
	if err != nil {
		return m, 0, err
	}
	m = model(res)
	return m, benchCode(res.Verdict.ExitCode, m.Load), nil
}

// shortened says where a load for a time ran out of requests.
func (c *benchCmd) shortened(a *app, w fixture.Workload, m report.Model) {
	if w.Duration == 0 || w.Open() || m.Load == nil || m.Load.Metrics.Seconds == nil || m.Load.Metrics.Requests < w.Count() {
		return
	}
	fmt.Fprintf(a.stdout, "note: all %d requests were sent before the %s were over; --requests allows more\n", w.Count(), w.Duration)
}

// benchCode is the exit code of a load: numbers that are void are none, and a
// build that is wrong is wrong, however its load was measured.
func benchCode(code int, l *report.Load) int {
	if l == nil {
		return code
	}
	for _, v := range l.Void {
		switch {
		case v.Incorrect:
			return verdict.ExitRegression
		case code == verdict.ExitPass:
			code = verdict.ExitInconclusive
		}
	}
	return code
}
