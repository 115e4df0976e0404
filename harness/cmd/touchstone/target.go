package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"touchstone/fixtures"
	"touchstone/harness/client"
	"touchstone/harness/coherence"
	"touchstone/harness/engine"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/load"
	"touchstone/harness/verdict"
	"touchstone/suites"
)

// targetFlags are shared by all commands that ask a server.
type targetFlags struct {
	Target     string        `help:"Address of the server under test, with or without /v1. Without one, the reference server that is built in is started and asked." placeholder:"URL"`
	Model      string        `help:"Model to ask, where several are served." placeholder:"ID"`
	APIKeyFile string        `name:"api-key-file" help:"File whose first line is the key." placeholder:"FILE"`
	Wait       time.Duration `help:"Wait so long for the server to load its model, until it really generates."`
	Timeout    time.Duration `help:"A request may take so long in all." default:"5m"`
	Stall      time.Duration `help:"A reply may be silent so long." default:"60s"`
	Fault      []string      `help:"Fault of the built-in reference server (without --target only)." placeholder:"NAME" sep:"none"`
}

// suiteFlags say what is run.
type suiteFlags struct {
	Tier        string   `help:"smoke, standard or full." enum:"smoke,standard,full" default:"standard"`
	Fixtures    []string `help:"Folder with more prompts/ and workloads/." placeholder:"DIR" sep:"none"`
	Prompts     []string `help:"File with more prompts (YAML)." placeholder:"FILE" sep:"none"`
	Baselines   string   `help:"Folder of baselines." placeholder:"DIR"`
	Concurrency int      `help:"Requests in flight at most, load apart." default:"8"`
	MaxRequests int      `help:"Requests in the whole run at most."`
	MaxTokens   int      `help:"Tokens generated in the whole run at most."`
	DryRun      bool     `help:"Print what would be sent, and send nothing."`
}

// start returns the address to ask, and what stops the server behind it if it
// is ours.
func (f targetFlags) start(a *app) (url string, stop func(), err error) {
	if f.Target != "" {
		if len(f.Fault) > 0 {
			return "", nil, usage("start your own with touchstone serve --fault NAME", "--fault is for the built-in server, and --target names another")
		}
		return f.Target, func() {}, nil
	}
	url, stop, err = suites.Embedded(a.ctx, (&serveCmd{Fault: f.Fault, MaxNumSeqs: 256, MaxNumBatchedTokens: 2048}).config())
	if err != nil {
		return "", nil, usage("touchstone faults lists the faults", "%w", err)
	}
	fmt.Fprintln(a.stderr, "touchstone: no --target, so the reference server that is built in is asked: this says nothing about YOUR server")
	return url, stop, nil
}

func (f targetFlags) clientOptions(a *app, url string) (client.Options, error) {
	key, err := a.apiKey(f.APIKeyFile)
	if err != nil {
		return client.Options{}, err
	}
	return client.Options{
		BaseURL: url, APIKey: key, Model: f.Model,
		Timeouts: client.Timeouts{Connect: 10 * time.Second, Header: f.Timeout, FirstToken: f.Timeout, Stall: f.Stall, Total: f.Timeout},
	}, nil
}

func (f targetFlags) waiting(a *app) engine.Wait {
	return engine.Wait{Limit: f.Wait, Interval: 2 * time.Second, Tell: func(why string) {
		fmt.Fprintln(a.stderr, "touchstone: waiting:", why)
	}}
}

func (f suiteFlags) load() (*fixture.Set, error) {
	s, err := fixture.Load(fixture.Options{FS: fixtures.FS, Dirs: f.Fixtures, Prompts: f.Prompts, ValidTag: coherence.ValidTag})
	if err != nil {
		return nil, usage("the fields of a prompt are listed in docs/fixtures.md", "%w", err)
	}
	return s, nil
}

// check refuses numbers that mean nothing.
func (f suiteFlags) check() error {
	switch {
	case f.Concurrency < 1:
		return usage("1 asks one after the other", "--concurrency %d: at least one request must be in flight", f.Concurrency)
	case f.MaxRequests < 0:
		return usage("leave it out for no limit", "--max-requests %d is negative", f.MaxRequests)
	case f.MaxTokens < 0:
		return usage("leave it out for no limit", "--max-tokens %d is negative", f.MaxTokens)
	}
	return nil
}

// baseline finds a baseline by name; an empty name is none.
func (f suiteFlags) baseline(name string) (*fixture.Baseline, error) {
	if name == "" {
		return nil, nil
	}
	stock, err := fs.Sub(fixtures.FS, "baselines")
	if err != nil {
		return nil, err
	}
	b, err := fixture.Find(name, f.baselineDirs(), stock)
	if err != nil {
		return nil, usage("touchstone record --as NAME makes one", "%w", err)
	}
	return b, nil
}

func (f suiteFlags) baselineDirs() []string {
	if f.Baselines != "" {
		return []string{f.Baselines}
	}
	return []string{"baselines"}
}

// options puts the flags together. What it returns must be stopped.
func (a *app) options(t targetFlags, s suiteFlags, baseline string) (o gate.Options, stop func(), err error) {
	if err := s.check(); err != nil {
		return o, nil, err
	}
	set, err := s.load()
	if err != nil {
		return o, nil, err
	}
	base, err := s.baseline(baseline)
	if err != nil {
		return o, nil, err
	}
	url, stop := t.Target, func() {}
	if !s.DryRun { // which asks nobody
		if url, stop, err = t.start(a); err != nil {
			return o, nil, err
		}
	}
	c, err := t.clientOptions(a, url)
	if err != nil {
		stop()
		return o, nil, err
	}
	return gate.Options{
		Client: c, Wait: t.waiting(a), Model: t.Model, Tier: s.Tier, Set: set, Baseline: base,
		Tool: "touchstone " + version, Now: time.Now,
		Limits:   gate.Limits{Concurrency: s.Concurrency, Requests: s.MaxRequests, Tokens: s.MaxTokens},
		Salt:     time.Now().UnixNano(),
		Progress: progress(a), Load: load.NewProgress(a.stderr, isTerminal(a.stderr)),
	}, stop, nil
}

// outDir returns the run folder: the one that was named, or a new one below
// reports/ that tells when.
func outDir(name string, now time.Time) string {
	if name != "" {
		return name
	}
	return filepath.Join("reports", now.UTC().Format("20060102-150405.000"))
}

// progress prints a line on stderr at each quarter of an area.
func progress(a *app) func(area verdict.Area, done, total int) {
	last := map[verdict.Area]int{}
	return func(area verdict.Area, done, total int) {
		if q := 4 * done / total; q > last[area] {
			last[area] = q
			fmt.Fprintf(a.stderr, "touchstone: %s %d/%d\n", area, done, total)
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// interrupted is the error of an interrupted or failed step.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// missing says whether a path is not there.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

// plural is for messages.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(word, "s"))
}
