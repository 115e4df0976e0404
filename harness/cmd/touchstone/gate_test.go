package main

import (
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/refserver/llama"
	"touchstone/harness/verdict"
)

// Every healthy variant must pass, each time: a gate that cries wolf is
// switched off.
func TestGateHealthy(t *testing.T) {
	for name, cfg := range map[string]refserver.Config{
		"default":                {},
		"three sequences":        {MaxNumSeqs: 3},
		"chunks of 32 tokens":    {MaxNumBatchedTokens: 32},
		"another name in config": {Version: "patched"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, cfg)
			for i := range 3 { // the second and third find a warm prefix cache
				o, dir := gated(t, server, good(t)...)
				o.want(t, verdict.ExitPass, "PASS", "against baseline good")
				if v := verdictOf(t, dir); v.Status != verdict.Pass || v.ExitCode != 0 || len(v.Diagnosis) > 0 {
					t.Errorf("run %d: %s, exit code %d, %v", i, v.Status, v.ExitCode, v.Diagnosis)
				}
			}
		})
	}
}

// The founding team had no good build: what needs no baseline is judged, and
// what does is listed.
func TestGateWithoutBaseline(t *testing.T) {
	o, dir := gated(t, serve(t, refserver.Config{}))
	o.want(t, verdict.ExitPass, "PASS", "without a baseline", "Not covered:", "anchors.regression", "no baseline")
	v := verdictOf(t, dir)
	for _, area := range verdict.Required() {
		if !slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return verdict.AreaOf(f.Check) == area }) {
			t.Errorf("nothing was judged in the area %s", area)
		}
	}
}

// The two founding faults, at all layers and at half of them, with and without
// a good build to compare with. Where every layer is broken the cause is
// certain, so exactly that one must be named.
func TestGateFaults(t *testing.T) {
	for _, f := range []struct{ fault, cause string }{
		{"attention-output-lost", verdict.CauseAttentionLost},
		{"attention-output-lost:layers=half", ""},
		{"qkv-shard-order", verdict.CauseWeightsMisplaced},
		{"qkv-shard-order:layers=half", ""},
	} {
		server := serve(t, refserver.Config{Faults: []string{f.fault}})
		for name, baseline := range map[string][]string{"baseline": good(t), "no baseline": nil} {
			t.Run(f.fault+"/"+name, func(t *testing.T) {
				o, dir := gated(t, server, baseline...)
				o.want(t, verdict.ExitRegression, "FAIL")
				if f.cause == "" {
					return
				}
				o.want(t, verdict.ExitRegression, "Likely cause: "+f.cause)
				if got := causes(verdictOf(t, dir)); !slices.Equal(got, []string{f.cause}) {
					t.Errorf("causes %v, want %q alone", got, f.cause)
				}
			})
		}
	}
}

// A third break, which nobody built a fault for: neither founding cause may be
// named for it.
func TestGateZeroLogits(t *testing.T) {
	server := serve(t, refserver.Config{Hooks: &llama.Hooks{
		Logits: func(_ []llama.Row, logits []float32) { clear(logits) },
	}})
	for name, baseline := range map[string][]string{"baseline": good(t), "no baseline": nil} {
		t.Run(name, func(t *testing.T) {
			o, dir := gated(t, server, baseline...)
			o.want(t, verdict.ExitRegression, "FAIL")
			for _, c := range causes(verdictOf(t, dir)) {
				if c == verdict.CauseAttentionLost || c == verdict.CauseWeightsMisplaced {
					t.Errorf("named %q", c)
				}
			}
		})
	}
}

func TestGateReportOnly(t *testing.T) {
	server := serve(t, refserver.Config{Faults: []string{"qkv-shard-order"}})
	o, dir := gated(t, server, "--report-only")
	o.want(t, verdict.ExitPass)
	first, _, _ := strings.Cut(o.stdout, "\n")
	if !strings.HasPrefix(first, "REPORT ONLY") || !strings.Contains(first, "FAIL") {
		t.Errorf("the first line is %q", first)
	}
	if v := verdictOf(t, dir); v.Status != verdict.Fail || v.ExitCode != verdict.ExitRegression {
		t.Errorf("verdict.json says %s, exit code %d: report-only judges, too", v.Status, v.ExitCode)
	}
	judged := touchstone(t, "judge", dir, "--report-only")
	judged.want(t, verdict.ExitPass)
	if line, _, _ := strings.Cut(judged.stdout, "\n"); line != first {
		t.Errorf("judge says %q, gate said %q", line, first)
	}
	touchstone(t, "judge", dir).want(t, verdict.ExitRegression)
}

// With --target in a URL that ends in /v1, or in a slash, the same server is
// asked.
func TestGateTargetForms(t *testing.T) {
	server := serve(t, refserver.Config{})
	for _, suffix := range []string{"/v1", "/v1/", "/"} {
		o, _ := gated(t, server+suffix)
		o.want(t, verdict.ExitPass)
	}
}

// git bisect run reads 0, 1 to 124, 125 and 128 in its own way.
func TestGateBisect(t *testing.T) {
	healthy := serve(t, refserver.Config{})
	o, _ := gated(t, healthy, "--bisect")
	o.want(t, verdict.ExitPass)
	o, _ = gated(t, serve(t, refserver.Config{Faults: []string{"attention-output-lost"}}), "--bisect")
	o.want(t, verdict.ExitRegression)
	o, dir := gated(t, closed(t), "--bisect")
	o.want(t, verdict.ExitBisectSkip, "no HTTP answer")
	o, _ = gated(t, healthy, "--bisect", "--baseline", "nobody")
	o.want(t, verdict.ExitBisectStop, "nobody")
	touchstone(t, "judge", "--bisect", dir).want(t, verdict.ExitBisectStop, "no run folder")
}
