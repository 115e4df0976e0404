package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"touchstone/harness/fixture"
	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

func TestRecord(t *testing.T) {
	server := serve(t, refserver.Config{})
	dir := t.TempDir()
	t.Chdir(dir) // baselines go to ./baselines unless --baselines says otherwise
	record := func(args ...string) outcome {
		t.Helper()
		all := append([]string{"record", "--target", server, "--tier", "smoke", "--workload", "none"}, args...)
		return touchstone(t, all...)
	}
	path := filepath.Join("baselines", "mine")

	o := record("--as", "mine")
	o.want(t, verdict.ExitPass, "on record", "within-launch")
	if o.stdout != path+"\n" {
		t.Errorf("standard output is %q, want the path alone", o.stdout)
	}
	first := baselineIn(t, "mine")
	if n := first.Noise; n.Scope != fixture.WithinLaunch || n.Passes != 2 || n.Answers == 0 || n.Unexplained != 0 {
		t.Errorf("noise %+v", n)
	}
	if len(first.Launches) != 0 {
		t.Errorf("launches %+v without a load", first.Launches)
	}

	record("--as", "mine").want(t, verdict.ExitUsage, "exists already", "--append", "--force")
	record("--as", "other", "--append").want(t, verdict.ExitUsage, "--append")

	// Speed: a launch more with each --append. The later workload wins over
	// "none".
	record("--as", "mine", "--append", "--workload", "smoke").want(t, verdict.ExitPass, fixture.AcrossLaunches)
	second := baselineIn(t, "mine")
	if len(second.Launches) != 1 || second.Launches[0].Workload != "smoke" || second.Launches[0].OutputTokensPerS <= 0 || second.Launches[0].OK != 32 {
		t.Errorf("launches %+v", second.Launches)
	}
	if n := second.Noise; n.Scope != fixture.AcrossLaunches || n.Passes != 3 {
		t.Errorf("noise %+v", n)
	}
	o = record("--as", "mine", "--append", "--tier", "standard")
	o.want(t, verdict.ExitUsage, "recorded at tier smoke", "hint: --tier smoke")
	if strings.Contains(o.stderr, "anchors") {
		t.Error("another tier is noticed only after the run")
	}

	record("--as", "mine", "--force").want(t, verdict.ExitPass)
	if b := baselineIn(t, "mine"); b.Noise.Scope != fixture.WithinLaunch {
		t.Errorf("--force left %+v", b.Noise)
	}
	// What was recorded is found from here without a flag.
	touchstone(t, append([]string{"gate", "--target", server, "--baseline", "mine", "--out", "run"}, smoke...)...).want(t, verdict.ExitPass, "against baseline mine")
}

func baselineIn(t *testing.T, name string) *fixture.Baseline {
	t.Helper()
	b, err := fixture.ReadBaseline(os.DirFS("baselines"), "baselines", name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A baseline of a broken build would disarm every later gate.
func TestRecordRefusesBrokenBuild(t *testing.T) {
	server := serve(t, refserver.Config{Faults: []string{"qkv-shard-order"}})
	dir := t.TempDir()
	args := append([]string{"record", "--target", server, "--as", "bad", "--baselines", dir}, smoke...)
	o := touchstone(t, args...)
	o.want(t, verdict.ExitRegression, "not recorded", "--force", "weights misplaced")
	if o.stdout != "" {
		t.Errorf("standard output holds %q", o.stdout)
	}
	if !missing(filepath.Join(dir, "bad")) {
		t.Error("it was recorded")
	}
	o = touchstone(t, append(args, "--force")...)
	o.want(t, verdict.ExitPass, "by --force")
	if missing(filepath.Join(dir, "bad")) {
		t.Error("--force recorded nothing")
	}
}

func TestRecordBadTargets(t *testing.T) {
	args := append([]string{"record", "--as", "x", "--baselines", t.TempDir()}, smoke...)
	touchstone(t, append(args, "--target", closed(t))...).want(t, verdict.ExitUnreachable, "no HTTP answer")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	o := touchstone(t, append([]string{"record", "--as", "x", "--baselines", file, "--target", serve(t, refserver.Config{})}, smoke...)...)
	o.want(t, verdict.ExitUsage, file, "hint:")
	if strings.Contains(o.stderr, "anchors") {
		t.Error("a folder that can't take the baseline is noticed only after the run")
	}
}
