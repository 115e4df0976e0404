package suites

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"touchstone/fixtures"
	"touchstone/harness/client"
	"touchstone/harness/coherence"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

// The flags of `go test ./suites -args -target URL`.
var (
	target   = flag.String("target", "", "address of the server under test; without one, the reference server is started in this process")
	model    = flag.String("model", "", "model to ask, where several are served")
	baseline = flag.String("baseline", "", "name of the baseline to judge against; without a target, tiny")
	tier     = flag.String("tier", fixture.TierSmoke, "smoke, standard or full")
)

// TestSuites runs the specs, each as a subtest of its own.
func TestSuites(t *testing.T) {
	o := options(t)
	r, err := gate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "specs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := Run(t.Context(), nil, r, log, verdict.Areas()...)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if len(s.Specs) == 0 {
		t.Fatal("no spec was run")
	}
	for _, spec := range s.Specs {
		t.Run(spec.Name, func(t *testing.T) {
			switch spec.State {
			case Passed:
			case Skipped:
				t.Skip(spec.Message)
			default:
				t.Error(spec.Message)
			}
		})
	}
}

func options(t *testing.T) gate.Options {
	t.Helper()
	set, err := fixture.Load(fixture.Options{FS: fixtures.FS, ValidTag: coherence.ValidTag})
	if err != nil {
		t.Fatal(err)
	}
	load, err := set.Workload("smoke")
	if err != nil {
		t.Fatal(err)
	}
	o := gate.Options{
		Client: client.Options{BaseURL: *target, Model: *model, APIKey: os.Getenv("TOUCHSTONE_API_KEY")},
		Model:  *model, Tier: *tier, Set: set, Workload: &load, Tool: "touchstone", Now: time.Now,
		Limits: gate.Limits{Concurrency: 8}, Out: filepath.Join(t.TempDir(), "run"),
	}
	name := *baseline
	if *target == "" {
		url, stop, err := Embedded(t.Context(), refserver.Config{Data: fixtures.Tiny()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		o.Client.BaseURL = url
		if name == "" {
			name = "tiny"
		}
	}
	if name != "" {
		stock, err := fs.Sub(fixtures.FS, "baselines")
		if err != nil {
			t.Fatal(err)
		}
		if o.Baseline, err = fixture.Find(name, []string{"baselines"}, stock); err != nil {
			t.Fatal(err)
		}
	}
	return o
}
