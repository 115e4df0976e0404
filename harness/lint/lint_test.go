// Package lint holds the rules of the house as tests: who may import whom, how
// long a file may be, and what must never stand in the code.
package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	module = "touchstone/"
	root   = "../.."
)

// pkg is what `go list -json` tells of a package.
type pkg struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
}

func packages(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	all := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all[p.ImportPath] = p
	}
	if len(all) < 10 {
		t.Fatalf("go list names only %d packages", len(all))
	}
	return all
}

// reaches returns a path of imports within the module from p to a package
// that bad accepts, or "".
func reaches(all map[string]pkg, from string, bad func(string) bool) string {
	seen := map[string]bool{}
	var walk func(string) string
	walk = func(at string) string {
		if seen[at] {
			return ""
		}
		seen[at] = true
		for _, imp := range all[at].Imports {
			name := strings.TrimPrefix(imp, module)
			if bad(name) {
				return at + " → " + name
			}
			if name != imp {
				if path := walk(name); path != "" {
					return at + " → " + path
				}
			}
		}
		return ""
	}
	return walk(from)
}

func under(p string, dirs ...string) bool {
	for _, d := range dirs {
		if p == d || strings.HasPrefix(p, d+"/") {
			return true
		}
	}
	return false
}

func TestImports(t *testing.T) {
	all := packages(t)
	ginkgo := func(p string) bool {
		return strings.HasPrefix(p, "github.com/onsi/ginkgo") || strings.HasPrefix(p, "github.com/onsi/gomega")
	}
	network := func(p string) bool { return p == "net/http" || p == "harness/client" }
	server := func(p string) bool { return under(p, "harness/refserver") }
	for name, p := range all {
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "github.com/olekukonko/tablewriter") && name != "harness/report/table" {
				t.Errorf("%s imports tablewriter; only harness/report/table may", name)
			}
		}
		if !under(name, "suites", "harness/matchers", "harness/cmd") {
			if path := reaches(all, name, ginkgo); path != "" {
				t.Errorf("nothing below matchers and suites may use Ginkgo or Gomega: %s", path)
			}
		}
		if under(name, "harness/coherence", "harness/parity", "harness/stat", "harness/verdict", "harness/report", "harness/exchange", "harness/fixture") {
			if path := reaches(all, name, network); path != "" {
				t.Errorf("what judges and renders must not know the network: %s", path)
			}
		}
		switch {
		case server(name):
			other := func(p string) bool { return under(p, "harness", "suites") && !server(p) }
			if path := reaches(all, name, other); path != "" {
				t.Errorf("the reference server must not know the harness: %s", path)
			}
		case under(name, "harness") && !under(name, "harness/cmd"):
			if path := reaches(all, name, server); path != "" {
				t.Errorf("the harness must not know the reference server; they meet on HTTP: %s", path)
			}
		}
	}
}

const (
	longestFile    = 500
	longestPackage = 2500
)

func TestSizes(t *testing.T) {
	for name, p := range packages(t) {
		total := 0
		for _, f := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			n := bytes.Count(b, []byte("\n"))
			total += n
			if n > longestFile {
				t.Errorf("%s/%s has %d lines, %d at most: split it by concept", name, f, n, longestFile)
			}
		}
		if total > longestPackage {
			t.Errorf("package %s has %d lines, %d at most: it is two packages", name, total, longestPackage)
		}
		if len(p.GoFiles) > 0 && len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 && !strings.Contains(name, "/internal/") {
			// A package below internal/ helps tests, which test it.
			t.Errorf("package %s has no test", name)
		}
	}
}

// banned are habits that hide a fault.
var banned = []struct {
	what *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`\btime\.` + `Sleep\(`), "waits for a time instead of an event"},
	{regexp.MustCompile(`\bFlake` + `Attempts\b`), "hides a fault that comes and goes"},
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "is unfinished work: finish it, or file it"},
	{regexp.MustCompile(`/(wor` + `k|ro` + `ot|far` + `m)/`), "is the path of one machine"},
}

func TestBanned(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); n == ".git" || n == "bin" || n == "engines" || strings.HasPrefix(n, "2") && filepath.Base(filepath.Dir(path)) == "reports" {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".yaml", ".sh", "":
		default:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			for _, x := range banned {
				if m := x.what.FindString(line); m != "" {
					t.Errorf("%s:%d: %q %s", path, i+1, m, x.why)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
