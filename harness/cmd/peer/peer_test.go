package main

import (
	"strings"
	"testing"

	"touchstone/harness/rounds"
	"touchstone/harness/verdict"
)

// TestCases: sound runs pass, and each fault is refused for what it is. The
// peer itself, a Python package, is asked by `make stat-peer` only.
func TestCases(t *testing.T) {
	want := []struct {
		status verdict.Status
		reason string
	}{
		{verdict.Pass, ""},
		{verdict.Inconclusive, rounds.VoidDuplicate},
		{verdict.Inconclusive, rounds.VoidRound},
		{verdict.Inconclusive, rounds.VoidLengths},
		{verdict.Fail, rounds.VoidIncorrect},
	}
	for i, c := range cases() {
		res := rounds.Judge(c.rounds(), options(len(c.a), nil))
		reason := ""
		if len(res.Void) > 0 {
			reason = res.Void[0].Reason
		}
		if res.Status != want[i].status || reason != want[i].reason {
			t.Errorf("%s: %v because of %q (%s), want %v because of %q", c.name, res.Status, reason, res.Because, want[i].status, want[i].reason)
		}
	}
}

// TestDraw: the same cell draws the same runs, and b lies below a by the drop.
func TestDraw(t *testing.T) {
	for _, c := range cells() {
		es, again := c.experiments(2000), c.experiments(1)
		if es[0].A[0] != again[0].A[0] || len(es[0].A) != c.runs || len(es[0].B) != c.runs {
			t.Fatalf("%s, %d runs: %v and %v", c.name, c.runs, es[0], again[0])
		}
		sum := 0.0
		for _, e := range es {
			sum += e.B[0] / e.A[0]
		}
		// The mean of a ratio of two values with 4 % noise is 1.0016 times too
		// large; its standard error is 0.057/√2000 = 0.13 %.
		if got := sum / 2000; got < (1-c.drop)*1.0016-0.005 || got > (1-c.drop)*1.0016+0.005 {
			t.Errorf("%s, drop %.2f: mean ratio %.4f", c.name, c.drop, got)
		}
	}
}

func TestResult(t *testing.T) {
	if got, err := result([]byte(`{"result": "PASS"}`), nil); err != nil || got != "PASS" {
		t.Errorf("%q, %v", got, err)
	}
	for _, out := range []string{"", "{}", "Traceback"} {
		if _, err := result([]byte(out), []byte("no benchmark results")); err == nil || !strings.Contains(err.Error(), "inference-doctor") {
			t.Errorf("%q was taken for an answer: %v", out, err)
		}
	}
}
