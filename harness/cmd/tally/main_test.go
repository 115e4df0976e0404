package main

import (
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want string // the last line
		code int
	}{
		"functions and specs count, other subtests don't": {
			`{"Action":"pass","Package":"a","Test":"TestX"}
{"Action":"pass","Package":"a","Test":"TestX/case"}
{"Action":"pass","Package":"s","Test":"TestSuites"}
{"Action":"pass","Package":"s","Test":"TestSuites/anchors_knows"}
{"Action":"skip","Package":"s","Test":"TestSuites/tokens_counts"}
{"Action":"pass","Package":"a"}`, "3 passed, 0 failed, 1 skipped", 0},
		"a failed function": {
			`{"Action":"pass","Package":"a","Test":"TestX"}
{"Action":"fail","Package":"a","Test":"TestY"}
{"Action":"fail","Package":"a"}`, "1 passed, 1 failed, 0 skipped", 1},
		"a package that doesn't build": {
			`{"Action":"pass","Package":"a","Test":"TestX"}
{"Action":"build-output","ImportPath":"b","Output":"b.go:1: no"}
{"Action":"build-fail","ImportPath":"b"}
{"Action":"fail","Package":"b"}`, "1 passed, 1 failed, 0 skipped", 1},
		"a package that dies outside of its tests": {
			`{"Action":"pass","Package":"a","Test":"TestX"}
{"Action":"fail","Package":"a"}`, "1 passed, 1 failed, 0 skipped", 1},
		"nothing at all": {"", "0 passed, 1 failed, 0 skipped", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if code := tally(strings.NewReader(c.in), &out); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != c.want {
				t.Errorf("closes with %q, want %q", got, c.want)
			}
		})
	}
}

func TestTallyShowsReasons(t *testing.T) {
	var out strings.Builder
	tally(strings.NewReader(`{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:3: the model file is not here\n"}
{"Action":"skip","Package":"a","Test":"TestX"}`), &out)
	if !strings.Contains(out.String(), "the model file is not here") {
		t.Errorf("the reason of a skipped test is lost:\n%s", out.String())
	}
}
