package suites

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"touchstone/harness/client"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/verdict"
)

// runOn runs the smoke tier over a server, with a load if one is named.
func runOn(t *testing.T, url string, set *fixture.Set, workload string, base *fixture.Baseline) *gate.Result {
	t.Helper()
	var load *fixture.Workload
	if workload != "" {
		w, err := set.Workload(workload)
		if err != nil {
			t.Fatal(err)
		}
		load = &w
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := gate.Open(t.Context(), gate.Options{
		Client: client.Options{BaseURL: url}, Tier: fixture.TierSmoke, Set: set, Workload: load, Baseline: base,
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

// documented holds a table between two marks of a page against what was
// measured; -update writes it.
func documented(t *testing.T, file, from, to, measured string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), from)
	got, after, ok2 := strings.Cut(rest, to)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no table between %q and %q", file, from, to)
	case got == measured:
	case !*update:
		t.Fatalf("the table in %s is not what was measured; -update writes it. Measured:\n%s", file, measured)
	default:
		if err := os.WriteFile(file, []byte(before+from+measured+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
