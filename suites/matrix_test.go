package suites

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"touchstone/fixtures"
	"touchstone/harness/coherence"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/refserver"
	"touchstone/harness/refserver/fault"
	"touchstone/harness/verdict"
)

var update = flag.Bool("update", false, "write the detection matrix into README.md")

// row is what the gate must say of a build. The matrix is how good the gate is:
// a fault that is no longer caught, or a healthy build that no longer passes,
// turns this test red.
type row struct {
	build    string
	faults   []string
	shape    refserver.Config // sizes of a healthy build
	status   verdict.Status
	cause    string   // "": none
	findings []string // checks that must fail, at least
}

var matrix = []row{
	{build: "healthy", status: verdict.Pass},
	{build: "healthy, `--max-num-seqs 3`", shape: refserver.Config{MaxNumSeqs: 3}, status: verdict.Pass},
	{build: "healthy, `--max-num-batched-tokens 32`", shape: refserver.Config{MaxNumBatchedTokens: 32}, status: verdict.Pass},
	{build: "`attention-output-lost`", faults: []string{"attention-output-lost"}, status: verdict.Fail, cause: verdict.CauseAttentionLost,
		findings: []string{verdict.ContextInsensitive, verdict.ContextSameAnswer, verdict.AnchorsAnswers, verdict.ThroughputSame}},
	{build: "`attention-output-lost:layers=half`", faults: []string{"attention-output-lost:layers=half"}, status: verdict.Fail,
		findings: []string{verdict.AnchorsAnswers}},
	{build: "`qkv-shard-order`", faults: []string{"qkv-shard-order"}, status: verdict.Fail, cause: verdict.CauseWeightsMisplaced,
		findings: []string{verdict.AnchorsAnswers, verdict.CoherenceMostly, verdict.ThroughputCoherence}},
	{build: "`qkv-shard-order:layers=half`", faults: []string{"qkv-shard-order:layers=half"}, status: verdict.Fail, cause: verdict.CauseWeightsMisplaced,
		findings: []string{verdict.AnchorsAnswers, verdict.CoherenceMostly}},
}

func TestMatrix(t *testing.T) {
	set, err := fixture.Load(fixture.Options{FS: fixtures.FS, ValidTag: coherence.ValidTag})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range matrix {
		res := judged(t, set, r)
		if res.Verdict.Status != r.status {
			t.Errorf("%s is judged %v, want %v: %v", r.build, res.Verdict.Status, r.status, failed(res.Verdict))
		}
		var causes []string
		for _, c := range res.Verdict.Diagnosis {
			causes = append(causes, c.Cause)
		}
		if r.cause != "" && !slices.Equal(causes, []string{r.cause}) || r.status == verdict.Pass && len(causes) > 0 {
			t.Errorf("%s is explained by %q, want %q alone", r.build, causes, r.cause)
		}
		for _, want := range r.findings {
			if !slices.Contains(failed(res.Verdict), want) {
				t.Errorf("%s doesn't fail %s; it fails %v", r.build, want, failed(res.Verdict))
			}
		}
		lines = append(lines, cells(r, res.Verdict))
	}
	for _, f := range fault.All() {
		// Speed is recorded and not judged yet, so no check can catch these.
		if f.Kind == fault.Speed {
			continue
		}
		if !slices.ContainsFunc(matrix, func(r row) bool { return slices.Contains(r.faults, f.Name) }) {
			t.Errorf("fault %s has no row in the matrix", f.Name)
		}
	}
	compareReadme(t, lines)
}

// judged runs the smoke tier over a build, without a baseline.
func judged(t *testing.T, set *fixture.Set, r row) *gate.Result {
	t.Helper()
	cfg := r.shape
	cfg.Data, cfg.Faults = fixtures.Tiny(), r.faults
	url, stop, err := Embedded(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	return runOn(t, url, set, "smoke", nil)
}

// cells is the row's line in the README.
func cells(r row, v verdict.Verdict) string {
	out := []string{r.build}
	for _, a := range verdict.Areas() {
		cell := "–"
		for _, f := range v.Findings {
			if verdict.AreaOf(f.Check) != a {
				continue
			}
			if f.Status == verdict.Fail {
				cell = "**caught**"
				break
			}
			cell = "pass"
		}
		out = append(out, cell)
	}
	cause := ""
	for _, c := range v.Diagnosis {
		cause = fmt.Sprintf("%s (%s)", c.Cause, c.Confidence)
	}
	return "| " + strings.Join(append(out, cause), " | ") + " |"
}

const (
	readme = "../README.md"
	begin  = "<!-- matrix: go test ./suites -run TestMatrix -update -->\n"
	end    = "<!-- end of matrix -->"
)

func compareReadme(t *testing.T, lines []string) {
	t.Helper()
	var head, rule []string
	for _, a := range verdict.Areas() {
		head, rule = append(head, string(a)), append(rule, "---")
	}
	documented(t, readme, begin, end,
		"| build | "+strings.Join(head, " | ")+" | cause named |\n|---|"+strings.Join(rule, "|")+"|---|\n"+strings.Join(lines, "\n")+"\n")
}
