package gate

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/health"
	"touchstone/harness/load"
	"touchstone/harness/probe"
	"touchstone/harness/scrape"
	"touchstone/harness/verdict"
)

// What was seen beside a load; both are absent in the folders of old runs.
const (
	healthFile = "health.json" // how the client was
	serverFile = "server.json" // what the server counted meanwhile
)

// observer looks at the client and the server while a load is measured.
type observer struct {
	from   scrape.Getter
	watch  *health.Watch
	before scrape.Snapshot
	none   error // why the server tells nothing
}

// begin is to be called before the first request that counts. The server is
// asked first: the time that it takes is not the load's.
func (o *observer) begin(ctx context.Context) {
	o.before, o.none = scrape.Get(ctx, o.from)
	o.watch = health.Start(ctx)
}

// save ends the watch and writes what was seen into the run folder. A load of
// which not even the warm-up was finished leaves nothing.
func (o *observer) save(ctx context.Context, f *exchange.Run) error {
	if o.watch == nil {
		return nil
	}
	h := o.watch.Stop()
	s := o.delta(ctx)
	return errors.Join(saveJSON(f, healthFile, h), saveJSON(f, serverFile, s))
}

func (o *observer) delta(ctx context.Context) scrape.Server {
	if o.none != nil {
		return scrape.Missing(o.none)
	}
	after, err := scrape.Get(ctx, o.from)
	if err != nil {
		return scrape.Missing(err)
	}
	return scrape.Delta(o.before, after)
}

// HowOf tells how a workload makes its load.
func HowOf(w fixture.Workload) load.How {
	return load.How{Concurrency: w.Concurrency, Open: w.Open(), Ramp: w.Ramp, SLO: w.SLO}
}

// Measured is a load with all that speaks for and against its numbers.
type Measured struct {
	Metrics load.Metrics
	Health  *health.Health // nil: the client was not watched
	Server  *scrape.Server // nil: not asked
	Want    load.Want
}

// Void says why the numbers mean nothing. A comparison of builds needs a
// plateau; for a record of one build it is enough that none of the gates broke.
func (m Measured) Void(comparison bool) []load.Void {
	w := m.Want
	w.Plateau = comparison
	return load.Validity(m.Metrics, m.Health, m.Server, w)
}

// measure measures the load of a run; nil where there was none.
func measure(f *exchange.Run, ev *probe.Evidence, v verdict.Verdict) (*Measured, error) {
	items := ev.In(verdict.Throughput)
	var xs []*exchange.Exchange
	for _, it := range items {
		if it.Exchange != nil {
			xs = append(xs, it.Exchange)
		}
	}
	if ev.Workload == nil || len(xs) == 0 {
		return nil, nil //nolint:nilnil // no load is no error
	}
	how := HowOf(*ev.Workload)
	m := &Measured{Metrics: how.Measure(xs), Want: load.Want{How: how, Planned: len(items), Incorrect: incorrect(v)}}
	var h health.Health
	if there, err := loadOptional(f.Dir, healthFile, &h); err != nil {
		return nil, err
	} else if there {
		m.Health = &h
	}
	var s scrape.Server
	if there, err := loadOptional(f.Dir, serverFile, &s); err != nil {
		return nil, err
	} else if there {
		m.Server = &s
	}
	return m, nil
}

// incorrect are the checks of the load's own texts that failed. Requests that
// failed are a reason of their own.
func incorrect(v verdict.Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		texts := f.Check == verdict.ThroughputCoherence || f.Check == verdict.ThroughputSame
		if texts && f.Status == verdict.Fail && !slices.Contains(out, f.Check) {
			out = append(out, f.Check)
		}
	}
	return out
}

// loadOptional is loadJSON of a file that may be absent.
func loadOptional(dir, name string, v any) (there bool, err error) {
	err = loadJSON(dir, name, v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
