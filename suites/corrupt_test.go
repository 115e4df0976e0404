package suites

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"touchstone/fixtures"
	"touchstone/harness/coherence"
	"touchstone/harness/fixture"
	"touchstone/harness/refserver"
	"touchstone/harness/refserver/corrupt"
	"touchstone/harness/verdict"
)

const (
	corruptDoc   = "../docs/corrupt.md"
	corruptBegin = "<!-- corruptions: go test ./suites -run TestCorrupt -update -->\n"
	corruptEnd   = "<!-- end of corruptions -->"
)

// firstCause holds the causes that must come first: the founding faults are
// known by name whether the engine or the file is at fault.
var firstCause = map[string]string{
	"qkv-swap":              verdict.CauseWeightsMisplaced,
	"attention-output-zero": verdict.CauseAttentionLost,
}

// TestCorrupt gates corrupted copies of the tiny model, and holds the table of
// docs/corrupt.md against what came out. Beside the baseline of the healthy file,
// every defect is a regression, and the benign one is none.
func TestCorrupt(t *testing.T) {
	set, err := fixture.Load(fixture.Options{FS: fixtures.FS, ValidTag: coherence.ValidTag})
	if err != nil {
		t.Fatal(err)
	}
	base, err := fixture.ReadBaseline(fixtures.FS, "", "baselines/tiny")
	if err != nil {
		t.Fatal(err)
	}
	table := "| fault | what is wrong | settings | without a baseline | beside one | first cause named |\n|---|---|---|---|---|---|\n"
	for _, f := range corrupt.All() {
		url := serveCorrupted(t, f.Name)
		alone, beside := runOn(t, url, set, "", nil).Verdict, runOn(t, url, set, "", base).Verdict
		want := verdict.ExitRegression
		if f.Benign {
			want = verdict.ExitPass
		}
		if got := beside.Status.ExitCode(); got != want {
			t.Errorf("%s: exit code %d (%v), want %d; failed are %v", f.Name, got, beside.Status, want, failed(beside))
		}
		if f.Benign && alone.Status != verdict.Pass {
			t.Errorf("%s is judged %v without a baseline: %v", f.Name, alone.Status, failed(alone))
		}
		cause := "–"
		if len(beside.Diagnosis) > 0 {
			first := beside.Diagnosis[0]
			cause = fmt.Sprintf("%s (%s)", first.Cause, first.Confidence)
		}
		if must := firstCause[f.Name]; must != "" && !strings.HasPrefix(cause, must) {
			t.Errorf("%s is explained by %q first, want %q", f.Name, cause, must)
		}
		var settings []string
		for _, p := range f.Params {
			setting := "`" + p.Name + "=" + p.Default + "`"
			if p.Name != "layers" { // the page explains it once
				setting += ": " + p.Summary
			}
			settings = append(settings, setting)
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %v | %v | %s |\n", f.Name, f.Summary, strings.Join(settings, "<br>"), alone.Status, beside.Status, cause)
	}
	documented(t, corruptDoc, corruptBegin, corruptEnd, table)
}

// serveCorrupted starts the reference server on a copy of the tiny model.
func serveCorrupted(t *testing.T, spec string) string {
	t.Helper()
	s, err := corrupt.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "corrupted.gguf")
	if _, err := s.File(t.Context(), filepath.Join("../fixtures", fixtures.TinyModel), file, false); err != nil {
		t.Fatal(err)
	}
	url, stop, err := Embedded(t.Context(), refserver.Config{GGUF: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}
