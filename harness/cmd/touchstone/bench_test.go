package main

import (
	"path/filepath"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

// small cuts the founding workload to what a test has time for.
var small = []string{"--requests", "12", "--concurrency", "6"}

func benched(t *testing.T, target string, args ...string) (outcome, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	all := append([]string{"bench", "--target", target, "--out", dir}, small...)
	return touchstone(t, append(all, args...)...), dir
}

func TestBench(t *testing.T) {
	server := serve(t, refserver.Config{})
	for workload, words := range map[string][]string{
		"founding":        {"1049.1", "founding benchmark"}, // what the founding script measured, beside it
		"founding-stream": {"TTFT", "TPOT", "ITL"},
	} {
		t.Run(workload, func(t *testing.T) {
			o, dir := benched(t, server, "--workload", workload, "--gpus", "2", "--warmup", "1")
			words = append(words, "workload "+workload, "12/12", "output tokens a second")
			o.want(t, verdict.ExitPass, append(words, "and GPU (2)", dir)...)
			touchstone(t, "judge", dir).want(t, verdict.ExitPass, "PASS", "12/12 ok")
			touchstone(t, "report", dir, "--format", "md").want(t, verdict.ExitPass, words...)
			if v := verdictOf(t, dir); v.Status != verdict.Pass {
				t.Errorf("verdict %s", v.Status)
			}
		})
	}
}

// A server can be fast because it talks gibberish: its numbers are void.
func TestBenchGibberish(t *testing.T) {
	server := serve(t, refserver.Config{Faults: []string{"qkv-shard-order"}})
	o, dir := benched(t, server)
	o.want(t, verdict.ExitRegression, "throughput.coherence", "12/12", "VOID incorrect")
	if !failed(verdictOf(t, dir), verdict.ThroughputCoherence) {
		t.Error("throughput.coherence did not fail")
	}
	touchstone(t, "judge", dir).want(t, verdict.ExitRegression, "FAIL")
}

// A smoke gate with its load: the numbers stand in the report, and the load is
// part of the verdict.
func TestGateWithLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := append([]string{"gate", "--target", serve(t, refserver.Config{}), "--tier", "smoke", "--out", dir}, good(t)...)
	touchstone(t, args...).want(t, verdict.ExitPass, "Load smoke: 32/32 ok", "TTFT")
}
