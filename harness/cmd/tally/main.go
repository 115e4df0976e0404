// Tally reads the output of `go test -json`, prints what failed, and closes
// with one line that counts: test functions and Ginkgo specs. A package that
// doesn't build or panics is a failure too.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

func main() { os.Exit(tally(os.Stdin, os.Stdout)) }

// event is a line of `go test -json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// specs is the test function whose subtests are Ginkgo's specs.
const specs = "TestSuites"

func tally(in io.Reader, out io.Writer) int {
	var passed, failed, skipped int
	output := map[string]*strings.Builder{}
	var reasons []string
	seen := 0
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // the go command's own complaint
			continue
		}
		seen++
		key := e.Package + e.ImportPath + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if output[key] == nil {
				output[key] = &strings.Builder{}
			}
			output[key].WriteString(e.Output)
		case "build-fail":
			failed++
			show(out, "does not build: "+e.ImportPath, output[key])
		case "pass":
			if counted(e.Test) {
				passed++
			}
			if e.Test == "" {
				fmt.Fprintf(out, "ok    %-50s %6.1f s\n", e.Package, e.Elapsed)
			}
			delete(output, key)
		case "skip":
			if counted(e.Test) {
				skipped++
				reasons = append(reasons, fmt.Sprintf("skip  %s %s: %s", e.Package, e.Test, why(output[key])))
			}
			delete(output, key)
		case "fail":
			switch {
			case counted(e.Test):
				failed++
				show(out, "FAIL  "+e.Package+" "+e.Test, output[key])
			case e.Test != "":
				show(out, "FAIL  "+e.Package+" "+e.Test, output[key])
			default:
				fmt.Fprintf(out, "FAIL  %-50s %6.1f s\n", e.Package, e.Elapsed)
				if failed == 0 { // it died outside of a test
					failed++
					show(out, "FAIL  "+e.Package, output[key])
				}
			}
			delete(output, key)
		}
	}
	if seen == 0 || lines.Err() != nil {
		fmt.Fprintln(out, "no test output came in:", lines.Err())
		failed++
	}
	sort.Strings(reasons)
	for _, r := range reasons {
		fmt.Fprintln(out, r)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		return 1
	}
	return 0
}

// counted says whether a test is a test function or a spec.
func counted(test string) bool {
	return test != "" && (!strings.Contains(test, "/") || strings.HasPrefix(test, specs+"/"))
}

func show(out io.Writer, title string, text *strings.Builder) {
	fmt.Fprintln(out, title)
	if text != nil {
		fmt.Fprintln(out, "      "+strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "\n      "))
	}
}

// why is what a skipped test said.
func why(text *strings.Builder) string {
	if text == nil {
		return "no reason given"
	}
	var kept []string
	for l := range strings.Lines(text.String()) {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "===") && !strings.HasPrefix(l, "---") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, " ")
}
