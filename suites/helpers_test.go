package suites

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"touchstone/harness/client"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/verdict"
)

// runOn runs the smoke tier, with its load of 32 requests.
func runOn(t *testing.T, url string, set *fixture.Set, base *fixture.Baseline) *gate.Result {
	t.Helper()
	load, err := set.Workload("smoke")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := gate.Open(t.Context(), gate.Options{
		Client: client.Options{BaseURL: url}, Tier: fixture.TierSmoke, Set: set, Workload: &load, Baseline: base,
		Limits: gate.Limits{Concurrency: 8}, Tool: "touchstone", Now: time.Now, Salt: time.Now().UnixNano(), Out: dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range verdict.Areas() {
		if _, err := run.Outcome(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := gate.Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func failed(v verdict.Verdict) []string {
	var out []string
	for _, f := range v.Findings {
		if f.Status == verdict.Fail && !slices.Contains(out, f.Check) {
			out = append(out, f.Check)
		}
	}
	return out
}
