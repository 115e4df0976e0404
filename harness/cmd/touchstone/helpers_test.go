package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"touchstone/fixtures"
	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
	"touchstone/suites"
)

// outcome is what a user sees of one call of the program.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
}

// call is one call of the program, in this process.
type call struct {
	ctx   context.Context
	env   []string
	stdin string
}

func (c call) run(t *testing.T, args ...string) outcome {
	t.Helper()
	ctx := c.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, c.env, strings.NewReader(c.stdin), &stdout, &stderr)
	return outcome{args, code, stdout.String(), stderr.String()}
}

func touchstone(t *testing.T, args ...string) outcome {
	t.Helper()
	return call{}.run(t, args...)
}

// want checks the exit code, and that the two outputs hold the words.
func (o outcome) want(t *testing.T, code int, words ...string) {
	t.Helper()
	if o.code != code {
		t.Fatalf("touchstone %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(o.args, " "), o.code, code, o.stdout, o.stderr)
	}
	for _, w := range words {
		if !strings.Contains(o.stdout+o.stderr, w) {
			t.Errorf("touchstone %s doesn't say %q\nstdout:\n%s\nstderr:\n%s", strings.Join(o.args, " "), w, o.stdout, o.stderr)
		}
	}
}

// smoke are the flags of the cheapest run that judges everything but speed.
var smoke = []string{"--tier", "smoke", "--workload", "none"}

// gateArgs gates a server into a new run folder.
func gateArgs(t *testing.T, target string, args ...string) (all []string, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	all = append([]string{"gate", "--target", target, "--out", dir}, smoke...)
	return append(all, args...), dir
}

func gated(t *testing.T, target string, args ...string) (outcome, string) {
	t.Helper()
	all, dir := gateArgs(t, target, args...)
	return touchstone(t, all...), dir
}

// serve starts the reference server on the tiny model.
func serve(t *testing.T, cfg refserver.Config) string {
	t.Helper()
	cfg.Data = fixtures.Tiny()
	address, stop, err := suites.Embedded(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return address
}

// front puts a proxy before a server. first may answer a request itself: then
// it returns true.
func front(t *testing.T, server string, first func(http.ResponseWriter, *http.Request) bool) *httptest.Server {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1 // streams pass as they come
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !first(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// generation says whether a request makes the server generate.
func generation(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/completions") }

// counted calls f at each generation, with its number from 1.
func counted(f func(n int64, w http.ResponseWriter, r *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		return generation(r) && f(n.Add(1), w, r)
	}
}

// midway is a generation in the middle of a smoke gate: finding out what the
// server can do takes fewer than 20, and the gate has more than 60 of its own.
const midway = 40

// recorded is a folder that holds baseline "good" of a healthy server, made
// once for all tests.
var recorded = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "touchstone-test-")
	if err != nil {
		return "", err
	}
	address, stop, err := suites.Embedded(context.Background(), refserver.Config{Data: fixtures.Tiny()})
	if err != nil {
		return dir, err
	}
	defer stop()
	var out bytes.Buffer
	args := append([]string{"record", "--target", address, "--as", "good", "--baselines", dir}, smoke...)
	if code := run(context.Background(), args, nil, strings.NewReader(""), &out, &out); code != verdict.ExitPass {
		return dir, fmt.Errorf("record: exit code %d\n%s", code, out.String())
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	dir, err := recorded()
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// good returns the flags that judge against the baseline of a healthy server.
func good(t *testing.T) []string {
	t.Helper()
	dir, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--baseline", "good", "--baselines", dir}
}

// edited returns a folder with a copy of baseline "good" in which old is
// replaced by new in one of its files.
func edited(t *testing.T, file, old, repl string) string {
	t.Helper()
	dir := t.TempDir()
	src := good(t)[3]
	if err := os.CopyFS(filepath.Join(dir, "good"), os.DirFS(filepath.Join(src, "good"))); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(dir, "good", file), old, repl)
	return dir
}

// replace changes a file; old must be there.
func replace(t *testing.T, file, old, repl string) {
	t.Helper()
	b := read(t, file)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s doesn't hold %q", file, old)
	}
	write(t, file, string(bytes.ReplaceAll(b, []byte(old), []byte(repl))))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// verdictOf reads verdict.json.
func verdictOf(t *testing.T, dir string) verdict.Verdict {
	t.Helper()
	var v verdict.Verdict
	if err := json.Unmarshal(read(t, filepath.Join(dir, "verdict.json")), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func causes(v verdict.Verdict) []string {
	names := []string{}
	for _, c := range v.Diagnosis {
		names = append(names, c.Cause)
	}
	return names
}

// failed says whether a check failed.
func failed(v verdict.Verdict, check string) bool {
	for _, f := range v.Findings {
		if f.Check == check && f.Status == verdict.Fail {
			return true
		}
	}
	return false
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
