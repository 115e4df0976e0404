package coherence

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of text checks into docs/checks.md")

const (
	docsFile = "../../docs/checks.md"
	docsFrom = "<!-- text checks: go test ./harness/coherence -run Docs -update -->\n"
	docsTo   = "<!-- end of text checks -->"
)

// TestDocs holds the table of text checks in the documentation against the
// checks.
func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| check | catches | unit | limit from | switched off by the tags |\n|---|---|---|---|---|\n")
	cell := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }
	for _, c := range Checks() {
		var tags []string
		for _, tag := range c.Exempt {
			tags = append(tags, "`"+fmt.Sprint(tag)+"`")
		}
		name := "`coherence." + c.Name + "`"
		if !c.Gross {
			name += " (beside a baseline only)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, cell(c.About), cell(c.Unit), cell(c.Source), strings.Join(tags, " "))
	}
	raw, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), docsFrom)
	got, after, ok2 := strings.Cut(rest, docsTo)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s lacks the marks %q and %q", docsFile, docsFrom, docsTo)
	case got == b.String():
	case *update:
		if err := os.WriteFile(docsFile, []byte(before+docsFrom+b.String()+docsTo+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("%s is not what the checks say; -update writes it", docsFile)
	}
}
