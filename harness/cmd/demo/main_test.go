package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fake writes a program that serves, records and judges as a script says:
// without the transformer, only to see what the demo makes of it.
func fake(t *testing.T, lost, swapped string) string {
	t.Helper()
	script := fmt.Sprintf(`#!/bin/sh
case "$1 $*" in
"serve "*attention*) echo lost > "$STATE"; echo "touchstone: serving m on http://127.0.0.1:1/v1, faults: a"; exec tail -f /dev/null ;;
"serve "*qkv*)       echo swapped > "$STATE"; echo "touchstone: serving m on http://127.0.0.1:2/v1, faults: b"; exec tail -f /dev/null ;;
"serve "*)           echo good > "$STATE"; echo "touchstone: serving m on http://127.0.0.1:3/v1"; exec tail -f /dev/null ;;
"gate "*)
	mkdir -p run1 run2 run3
	case "$*" in
	*127.0.0.1:3*) echo '{"diagnosis":[]}' > run1/verdict.json; exit 0 ;;
	*127.0.0.1:1*) echo '{"diagnosis":[%s]}' > run2/verdict.json; exit 1 ;;
	*127.0.0.1:2*) echo '{"diagnosis":[%s]}' > run3/verdict.json; exit 1 ;;
	esac ;;
esac
`, lost, swapped)
	t.Setenv("STATE", filepath.Join(t.TempDir(), "state"))
	path := filepath.Join(t.TempDir(), "touchstone")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	attention = `{"cause":"attention output lost"}`
	weights   = `{"cause":"weights misplaced"}`
)

func TestDemo(t *testing.T) {
	for name, c := range map[string]struct {
		lost, swapped string
		right         int
	}{
		"as expected":        {attention, weights, 3},
		"causes exchanged":   {weights, attention, 1},
		"one cause too many": {attention + "," + weights, weights, 2},
		"no cause named":     {"", weights, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := demo(t.Context(), fake(t, c.lost, c.swapped), &out)
			if want := fmt.Sprintf("demo: 3 builds judged, %d as expected", c.right); !strings.Contains(out.String(), want) {
				t.Errorf("it doesn't close with %q: %v\n%s", want, err, out.String())
			}
			if (err == nil) != (c.right == 3) {
				t.Errorf("error %v with %d of 3 right", err, c.right)
			}
		})
	}
}
