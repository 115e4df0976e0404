// Package gate is one run of Touchstone from end to end: find out what the
// target is, plan, send, keep, and judge what was kept. The suites, `touchstone
// gate`, `record` and `bench` are this package with different probes; `judge`
// is its last step alone.
package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"touchstone/harness/client"
	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/fit"
	"touchstone/harness/fixture"
	"touchstone/harness/health"
	"touchstone/harness/load"
	"touchstone/harness/probe"
	"touchstone/harness/verdict"
)

// Options say what is run against what.
type Options struct {
	Client     client.Options
	Wait       engine.Wait
	Model      string // empty: the only one served
	ModelAlias string // the name under which the baseline knows the model
	Tier       string
	Set        *fixture.Set
	Baseline   *fixture.Baseline // nil: none
	Workload   *fixture.Workload // nil: no load
	Areas      []verdict.Area    // nil: all
	Out        string            // run folder: a new one, or empty
	Tool       string            // touchstone and its version
	Limits     Limits
	GPUs       int
	Salt       int64 // of the load's nonces: another one in each run
	Now        func() time.Time
	Progress   func(area verdict.Area, done, total int) // may be nil
	Load       *load.Progress                           // shows how the load goes; may be nil
	Tell       func(note string)                        // told what a reader of the numbers must know; may be nil
}

// Limits bound what a run costs. Zero means none.
type Limits struct {
	Concurrency int // requests in flight at most, load apart
	Requests    int // in the whole run
	Tokens      int // generated in the whole run, at most
}

// Run is one run in progress.
type Run struct {
	Target  exchange.Target
	prompts []fixture.Prompt
	opts    Options
	client  *client.Client
	folder  *exchange.Run
	plan    map[verdict.Area][]exchange.Request
	session *probe.Session

	mu       sync.Mutex
	done     map[verdict.Area]bool
	outcomes map[verdict.Area]probe.Outcome
}

// Open asks the target, checks that the baseline is one of the same model,
// makes the plan and creates the run folder. Nothing of the plan is sent yet.
func Open(ctx context.Context, o Options) (*Run, error) {
	c, err := client.New(o.Client)
	if err != nil {
		return nil, &engine.Error{Kind: engine.Usage, Msg: err.Error()}
	}
	if err := fresh(o.Out); err != nil {
		return nil, err
	}
	if err := openFiles(o); err != nil {
		return nil, err
	}
	target, err := engine.Find(ctx, c, o.Model, o.Wait)
	if err != nil {
		return nil, err
	}
	if err := comparable(o.Baseline, target, o.ModelAlias); err != nil {
		return nil, err
	}
	if err := fitted(ctx, c, target, &o); err != nil {
		return nil, err
	}
	r := &Run{Target: target, opts: o, client: c, done: map[verdict.Area]bool{}, outcomes: map[verdict.Area]probe.Outcome{}}
	r.prompts = o.Set.Select(o.Tier, modelName(o, target))
	r.plan, err = Plan(o, target)
	if err != nil {
		return nil, err
	}
	meta := exchange.Meta{
		Tool: o.Tool, Started: o.Now().UTC(), Tier: o.Tier, Target: target,
		Concurrency: o.Limits.Concurrency, GPUs: o.GPUs, Seed: o.Salt, Thresholds: probe.Thresholds(),
	}
	if o.Baseline != nil {
		meta.Baseline = o.Baseline.Name
	}
	r.folder, err = exchange.Create(o.Out, meta, r.planned())
	if err != nil {
		return nil, badFolder(err)
	}
	if err := r.saveInputs(); err != nil {
		return nil, errors.Join(err, r.folder.Close())
	}
	r.session = &probe.Session{
		Do: c.Do, Keep: r.folder.Append, Concurrency: max(1, o.Limits.Concurrency), Progress: o.Progress,
	}
	return r, nil
}

// fitted brings the load's prompts to the length that it asks for.
func fitted(ctx context.Context, c *client.Client, target exchange.Target, o *Options) error {
	if o.Workload == nil {
		return nil
	}
	w, note, err := fit.Fit(ctx, c, target, *o.Workload, load.Limits{Salt: o.Salt})
	if err != nil {
		return err
	}
	if o.Workload = &w; note != "" && o.Tell != nil {
		o.Tell(note)
	}
	return nil
}

// openFiles refuses a load that the process can't hold the connections of.
func openFiles(o Options) error {
	if o.Workload == nil {
		return nil
	}
	if err := health.Files(o.Workload.InFlight()); err != nil {
		return &engine.Error{Kind: engine.Usage, Msg: fmt.Sprintf("workload %s: %v", o.Workload.Name, err)}
	}
	return nil
}

// fresh refuses a run folder that can't take a run, before the server is
// waited for and asked.
func fresh(dir string) error {
	files, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return badFolder(fmt.Errorf("can't use the run folder: %w", err))
	case len(files) > 0:
		return badFolder(fmt.Errorf("run folder %s is not empty (it holds %s)", dir, files[0].Name()))
	}
	return nil
}

// badFolder is the error of a run folder that the user named and that can't be
// used. A full disk is no wrong name.
func badFolder(err error) error {
	if DiskFull(err) {
		return err
	}
	return &engine.Error{Kind: engine.Usage, Msg: err.Error(), Hint: "name a new folder, on a disk that can be written, with --out"}
}

// DiskFull says whether an error is for want of space.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// modelName is the name by which prompts choose: what the model was called
// when the baseline was made, if an alias says so.
func modelName(o Options, t exchange.Target) string {
	if o.ModelAlias != "" {
		return o.ModelAlias
	}
	return t.Model
}

// comparable refuses a baseline of another model. The same model with other
// token ids passes here: that is a finding.
func comparable(b *fixture.Baseline, t exchange.Target, alias string) error {
	if b == nil {
		return nil
	}
	if b.Target.Model != t.Model && b.Target.Model != alias {
		return &engine.Error{Kind: engine.Usage,
			Msg:  fmt.Sprintf("baseline %s was recorded on model %q, the target serves %q", b.Name, b.Target.Model, t.Model),
			Hint: fmt.Sprintf("if only the name differs, give --model-alias %q; else record a baseline of this model", b.Target.Model)}
	}
	if was, is := b.Target.VocabSize, t.VocabSize; was != 0 && is != 0 && was != is {
		return &engine.Error{Kind: engine.Usage,
			Msg:  fmt.Sprintf("baseline %s was recorded on a vocabulary of %d tokens, the target has %d", b.Name, was, is),
			Hint: "this is another model: record a baseline of it"}
	}
	return nil
}

// Plan makes the requests of every area, within the limits: the load is cut
// first, and what still doesn't fit is refused before anything is sent.
func Plan(o Options, target exchange.Target) (map[verdict.Area][]exchange.Request, error) {
	env := probe.Env{Target: target, Prompts: o.Set.Select(o.Tier, modelName(o, target)), Workload: o.Workload, Salt: o.Salt}
	plan := map[verdict.Area][]exchange.Request{}
	requests, tokens := 0, 0
	for _, p := range probe.All() {
		a := p.Area()
		if o.Areas != nil && !slices.Contains(o.Areas, a) {
			continue
		}
		rs := p.Plan(env)
		if a == verdict.Throughput {
			rs = cut(rs, o.Limits, requests, tokens)
		}
		plan[a] = rs
		requests += len(rs)
		tokens += probe.TokensAtMost(rs)
	}
	if l := o.Limits; l.Requests > 0 && requests > l.Requests || l.Tokens > 0 && tokens > l.Tokens {
		return nil, &engine.Error{Kind: engine.Usage,
			Msg:  fmt.Sprintf("tier %s sends %d requests that may generate %d tokens, more than the limits of %s; nothing was sent", o.Tier, requests, tokens, l),
			Hint: "--tier smoke asks least; --dry-run shows what a tier sends"}
	}
	if requests == 0 {
		return nil, &engine.Error{Kind: engine.Usage, Msg: "nothing to send: no prompt suits this model and tier", Hint: "check --prompts, --fixtures and --model"}
	}
	return plan, nil
}

func (l Limits) String() string {
	s := ""
	if l.Requests > 0 {
		s = fmt.Sprintf("%d requests", l.Requests)
	}
	if l.Tokens > 0 {
		if s != "" {
			s += " and "
		}
		s += fmt.Sprintf("%d tokens", l.Tokens)
	}
	return s
}

// cut shortens a load to what the limits leave.
func cut(rs []exchange.Request, l Limits, requests, tokens int) []exchange.Request {
	for i := range rs {
		requests++
		tokens += probe.TokensAtMost(rs[i : i+1])
		if l.Requests > 0 && requests > l.Requests || l.Tokens > 0 && tokens > l.Tokens {
			return rs[:i]
		}
	}
	return rs
}

// Planned returns the requests of the areas, in the order in which they run.
func (r *Run) Planned(areas ...verdict.Area) []exchange.Request {
	var out []exchange.Request
	for _, p := range probe.All() {
		if slices.Contains(areas, p.Area()) {
			out = append(out, r.plan[p.Area()]...)
		}
	}
	return out
}

// planned is the plan as the run folder keeps it.
func (r *Run) planned() []exchange.Planned {
	var out []exchange.Planned
	for _, p := range probe.All() {
		if rs := r.plan[p.Area()]; len(rs) > 0 {
			out = append(out, exchange.Planned{Probe: string(p.Area()), Requests: rs})
		}
	}
	return out
}

// collect sends the requests of areas, each once, however often it is called.
func (r *Run) collect(ctx context.Context, areas []verdict.Area) error {
	for _, a := range areas {
		if r.done[a] || r.session.Dead() {
			continue
		}
		var err error
		if a == verdict.Throughput {
			err = r.load(ctx)
		} else {
			err = r.session.Send(ctx, a, r.plan[a])
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.done[a] = true
	}
	return nil
}

// load sends the load, warm-up first. Warm-up is not kept.
func (r *Run) load(ctx context.Context) error {
	requests := r.plan[verdict.Throughput]
	if len(requests) == 0 {
		return nil
	}
	w := r.opts.Workload
	_, warmup := load.Plan(*w, load.Limits{Salt: r.opts.Salt})
	var keep error
	var show func(load.State)
	if p := r.opts.Load; p != nil {
		show = p.Report
		defer p.Close() // whatever comes next on a terminal starts on a line of its own
	}
	beside := &observer{from: r.client}
	lo := load.For(*w, r.opts.Salt, requests, warmup)
	lo.Measured = func() { beside.begin(ctx) }
	lo.Do, lo.GiveUp, lo.Progress = r.client.DoAt, probe.Hopeless, show
	lo.OnDone = func(x *exchange.Exchange) {
		if load.IsWarmup(x.Request) || ctx.Err() != nil && x.Failure != nil {
			return // an interrupted request is not the server's doing
		}
		if err := r.folder.Append(x); err != nil && keep == nil {
			keep = err
		}
	}
	res := load.Run(ctx, lo)
	if ctx.Err() == nil {
		keep = errors.Join(keep, r.sent(res))
	}
	return errors.Join(keep, beside.save(ctx, r.folder))
}

// sent puts into the plan what only the load could tell: the real answers in
// the turns of sessions, and where the time was up.
func (r *Run) sent(res *load.Result) error {
	was := make(map[string]exchange.Request, len(res.Exchanges))
	for _, x := range res.Exchanges {
		was[x.Request.ID] = x.Request
	}
	changed := false
	var plan []exchange.Request
	for _, p := range r.plan[verdict.Throughput] {
		x, ok := was[p.ID]
		switch {
		case ok:
			changed = changed || len(x.Messages) != len(p.Messages)
			plan = append(plan, x)
		case res.TimeUp && !res.GaveUp:
			changed = true
		default:
			plan = append(plan, p) // it is missing, and the verdict says so
		}
	}
	if !changed {
		return nil
	}
	r.plan[verdict.Throughput] = plan
	return r.folder.SetPlan(r.planned())
}

// Outcome collects what the probe of an area reads, and scores it; once,
// however often it is called.
func (r *Run) Outcome(ctx context.Context, area verdict.Area) (probe.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := r.outcomes[area]; ok {
		return o, nil
	}
	p, ok := probe.For(area)
	if !ok {
		return probe.Outcome{}, fmt.Errorf("no probe for area %q", area)
	}
	if err := r.collect(ctx, p.Reads()); err != nil {
		return probe.Outcome{}, err
	}
	ev, _, err := Evidence(r.folder)
	if err != nil {
		return probe.Outcome{}, err
	}
	o := p.Score(ev)
	r.outcomes[area] = o
	return o, nil
}

// Close ends the run: everything is on disk.
func (r *Run) Close() error { return r.folder.Close() }
