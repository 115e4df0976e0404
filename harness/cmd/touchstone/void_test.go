package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"touchstone/harness/load"
	"touchstone/harness/refserver"
	"touchstone/harness/scrape"
	"touchstone/harness/verdict"
)

// counting answers /metrics with one count of generated tokens after the other.
func counting(counts ...int) func(http.ResponseWriter, *http.Request) bool {
	var asked atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/metrics" {
			return false
		}
		n := counts[min(int(asked.Add(1))-1, len(counts)-1)]
		fmt.Fprintf(w, "# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total %d\n", n)
		return true
	}
}

// A server that breaks a gate of the load: its numbers are void, the exit code
// is 3 where nothing is known to be wrong with the build, and the folder says
// the same when it is judged again.
func TestBenchVoid(t *testing.T) {
	server := serve(t, refserver.Config{})
	for name, c := range map[string]struct {
		first  func(http.ResponseWriter, *http.Request) bool
		code   int
		reason string
	}{
		"restarted":      {counting(90000, 12), verdict.ExitInconclusive, load.VoidRestarted},
		"counts too few": {counting(0, 12), verdict.ExitInconclusive, load.VoidDisagree},
		"somebody else":  {counting(0, 90000), verdict.ExitInconclusive, load.VoidDisagree},
		"one request fails": {counted(func(n int64, w http.ResponseWriter, _ *http.Request) bool {
			if n%40 != 39 {
				return false
			}
			http.Error(w, "out of memory", http.StatusInternalServerError)
			return true
		}), verdict.ExitRegression, load.VoidFailed},
	} {
		t.Run(name, func(t *testing.T) {
			o, dir := benched(t, front(t, server, c.first).URL, "--workload", "founding-stream", "--requests", "60")
			o.want(t, c.code, "VOID "+c.reason)
			touchstone(t, "report", dir).want(t, verdict.ExitPass, "VOID "+c.reason)
		})
	}
}

// What was seen beside a load is kept in the run folder, and nothing of it is
// needed to judge.
func TestBenchKeepsWhatWasSeen(t *testing.T) {
	o, dir := benched(t, serve(t, refserver.Config{}), "--workload", "founding-stream")
	o.want(t, verdict.ExitPass, "tokens out by the server's /metrics", "client: CPU")
	if strings.Contains(o.stdout, "VOID") {
		t.Errorf("a healthy load is void:\n%s", o.stdout)
	}
	var s scrape.Server
	b, err := os.ReadFile(filepath.Join(dir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &s); err != nil || s.OutputTokens == nil || s.Engine != "vllm" {
		t.Errorf("server.json: %v, %s", err, b)
	}
	for _, name := range []string{"server.json", "health.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	touchstone(t, "judge", dir).want(t, verdict.ExitPass, "12/12 ok")

	// A server without /metrics is judged without it.
	none := front(t, serve(t, refserver.Config{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/metrics" {
			http.NotFound(w, r)
		}
		return r.URL.Path == "/metrics"
	})
	o, dir = benched(t, none.URL)
	o.want(t, verdict.ExitPass)
	if b, _ := os.ReadFile(filepath.Join(dir, "server.json")); !strings.Contains(string(b), "has no /metrics") {
		t.Errorf("server.json: %s", b)
	}
}
