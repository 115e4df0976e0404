package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"touchstone/harness/coherence"
	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"--help"}, {"gate", "--help"}, {"bench", "-h"}, {"judge", "--help"}} {
		o := touchstone(t, args...)
		o.want(t, verdict.ExitPass, "Usage: touchstone")
		if o.stderr != "" {
			t.Errorf("%v: help on standard error: %s", args, o.stderr)
		}
	}
	touchstone(t, "--help").want(t, verdict.ExitPass, "130 interrupted", "TOUCHSTONE_TARGET", "gate", "record", "bench", "judge")
	if o := touchstone(t, "--version"); o.code != 0 || strings.TrimSpace(o.stdout) != version {
		t.Errorf("--version: %d, %q", o.code, o.stdout)
	}
}

func TestFaults(t *testing.T) {
	touchstone(t, "faults").want(t, verdict.ExitPass, "attention-output-lost", "qkv-shard-order")
	o := touchstone(t, "faults", "--format", "json")
	o.want(t, verdict.ExitPass)
	var list []map[string]any
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil || len(list) < 2 {
		t.Errorf("%d faults, %v", len(list), err)
	}
}

// The built-in server says that it is not the user's.
func TestNoTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	touchstone(t, append([]string{"gate"}, smoke...)...).want(t, verdict.ExitPass, "says nothing about YOUR server", "run folder: reports")
	o := touchstone(t, append([]string{"gate", "--fault", "attention-output-lost"}, smoke...)...)
	o.want(t, verdict.ExitRegression, "attention output lost")
}

func TestCheck(t *testing.T) {
	const ok = `{"id":"a","text":"The capital of Norway is Oslo."}` + "\n"
	const bad = `{"id":"b","text":"////////////////////////////////////////////////"}` + "\n"
	for name, c := range map[string]struct {
		in      string
		code    int
		results []string // verdicts on standard output
		words   []string
	}{
		"all good":       {ok, verdict.ExitPass, []string{"ok"}, []string{"1 text read, 0 bad"}},
		"one bad":        {ok + bad, verdict.ExitRegression, []string{"ok", "bad"}, []string{"2 texts read, 1 bad"}},
		"a broken line":  {ok + "{\n", verdict.ExitUsage, nil, []string{"standard input:2", "hint:"}},
		"no text at all": {"", verdict.ExitUsage, nil, []string{"standard input: no texts", "hint:"}},
		"a wrong field":  {`{"id":"a","txet":"x"}` + "\n", verdict.ExitUsage, nil, []string{"standard input:1", "txet"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := call{stdin: c.in}.run(t, "check", "-")
			o.want(t, c.code, c.words...)
			var got []string
			for line := range strings.Lines(o.stdout) {
				var r coherence.Result
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				got = append(got, string(r.Verdict))
			}
			if strings.Join(got, " ") != strings.Join(c.results, " ") {
				t.Errorf("verdicts %v, want %v", got, c.results)
			}
			for _, w := range c.words {
				if strings.Contains(o.stdout, w) {
					t.Errorf("%q stands on standard output", w)
				}
			}
		})
	}
	file := filepath.Join(t.TempDir(), "texts.jsonl")
	write(t, file, ok+"nonsense\n")
	touchstone(t, "check", file).want(t, verdict.ExitUsage, file+":2")
	touchstone(t, "check", file+".gone").want(t, verdict.ExitUsage, "could not be read")
}

// A dry run asks nobody, not even for the list of models.
func TestDryRun(t *testing.T) {
	var asked atomic.Int64
	server := front(t, serve(t, refserver.Config{}), func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false })
	dir := t.TempDir()
	t.Chdir(dir)
	for _, args := range [][]string{
		{"gate", "--target", server.URL, "--dry-run"},
		{"gate", "--dry-run"},
		{"record", "--as", "x", "--target", server.URL, "--dry-run"},
		{"bench", "--target", server.URL, "--dry-run"},
	} {
		o := touchstone(t, args...)
		o.want(t, verdict.ExitPass, "requests", "generated tokens", "nothing was sent", "throughput")
		if strings.Contains(o.stderr, "built in") {
			t.Errorf("%v starts a server: %s", args, o.stderr)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if !missing(filepath.Join(dir, "reports")) || !missing(filepath.Join(dir, "baselines")) {
		t.Error("a dry run left a folder")
	}
}

// Limits: the load is cut first, and what still doesn't fit is refused before
// any of it is sent.
func TestLimits(t *testing.T) {
	var generations atomic.Int64
	server := front(t, serve(t, refserver.Config{}), func(_ http.ResponseWriter, r *http.Request) bool {
		if generation(r) {
			generations.Add(1)
		}
		return false
	})
	gate := []string{"gate", "--target", server.URL, "--tier", "smoke", "--concurrency", "1"}
	refused := func(flag, limit string) {
		t.Helper()
		generations.Store(0)
		dir := filepath.Join(t.TempDir(), "run")
		touchstone(t, append(gate, "--out", dir, flag, limit)...).want(t, verdict.ExitUsage, "nothing was sent", limit, "--dry-run")
		if n := generations.Load(); n > 20 { // finding out what the server can do
			t.Errorf("%s %s: %d generations", flag, limit, n)
		}
		if !missing(dir) {
			t.Errorf("%s %s: a run folder is there", flag, limit)
		}
		touchstone(t, append(gate, "--dry-run", flag, limit)...).want(t, verdict.ExitUsage, "nothing was sent")
	}
	refused("--max-requests", "10")
	refused("--max-tokens", "100")

	// The smoke tier asks 64 things of this server and then makes 32 requests
	// of load; with room for 70 in all, six of them are left.
	dir := filepath.Join(t.TempDir(), "run")
	touchstone(t, append(gate, "--out", dir, "--max-requests", "70")...).want(t, verdict.ExitPass, "6/6")
	if n := len(lines(t, dir)); n != 70 {
		t.Errorf("%d exchanges, want 70", n)
	}
}

// The program's two halves together, as the README shows them: serve a broken
// build, gate it, stop it.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout, in := io.Pipe()
	code := make(chan int)
	go func() {
		args := []string{"serve", "--addr", "127.0.0.1:0", "--fault", "qkv-shard-order"}
		code <- run(ctx, args, nil, strings.NewReader(""), in, io.Discard)
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://\S+/v1`).FindString(line)
	if !strings.Contains(line, "serving touchstone-tiny on "+address) || !strings.Contains(line, "faults: qkv-shard-order") {
		t.Fatalf("the ready line is %q", line)
	}
	o, _ := gated(t, address, good(t)...)
	o.want(t, verdict.ExitRegression, "weights misplaced")
	cancel()
	if got := <-code; got != verdict.ExitPass {
		t.Errorf("a server that was told to stop exits %d", got)
	}
	o, _ = gated(t, address)
	o.want(t, verdict.ExitUnreachable, "no HTTP answer")
}

func TestServeRefuses(t *testing.T) {
	touchstone(t, "serve", "--fault", "gremlins").want(t, verdict.ExitUsage, "gremlins", "touchstone faults")
	touchstone(t, "serve", "--gguf", "nowhere.gguf").want(t, verdict.ExitUsage, "nowhere.gguf")
	touchstone(t, "serve", "--addr", "256.0.0.1:1").want(t, verdict.ExitUsage, "256.0.0.1:1", "--addr")
}
