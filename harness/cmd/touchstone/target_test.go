package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

// closed is the address of a port where nobody listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return "http://" + l.Addr().String()
}

// answering is a server that says one thing to everybody.
func answering(t *testing.T, status int, ctype, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ctype)
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck,gosec // the client may be gone
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// What can't be asked is told apart: nobody there, still loading, the wrong
// address, the wrong key.
func TestBadTargets(t *testing.T) {
	const js, html = "application/json", "text/html; charset=utf-8"
	for name, c := range map[string]struct {
		target string
		code   int
		words  []string
	}{
		"nobody listens":    {closed(t), verdict.ExitUnreachable, []string{"no HTTP answer", "hint:", "is the server running", "--wait"}},
		"404 in JSON":       {answering(t, 404, js, `{"detail":"Not Found"}`), verdict.ExitUsage, []string{"HTTP 404", "Not Found", "hint:", "not an OpenAI API"}},
		"a web page":        {answering(t, 200, html, "<!doctype html><p>hello"), verdict.ExitUsage, []string{"web page", "hint:", "/v1"}},
		"JSON, no list":     {answering(t, 200, js, `{"status":"ok"}`), verdict.ExitUsage, []string{"not an OpenAI model list", `{"status":"ok"}`, "hint:"}},
		"an empty list":     {answering(t, 200, js, `{"object":"list","data":[]}`), verdict.ExitUsage, []string{"not an OpenAI model list"}},
		"401":               {answering(t, 401, js, `{"error":"no"}`), verdict.ExitUsage, []string{"HTTP 401", "key", "TOUCHSTONE_API_KEY", "--api-key-file"}},
		"403":               {answering(t, 403, js, `{"error":"no"}`), verdict.ExitUsage, []string{"HTTP 403", "key", "TOUCHSTONE_API_KEY"}},
		"429":               {answering(t, 429, js, `{"error":"slow down"}`), verdict.ExitInconclusive, []string{"HTTP 429", "--concurrency"}},
		"502":               {answering(t, 502, html, "<h1>Bad Gateway"), verdict.ExitUnreachable, []string{"HTTP 502", "--wait"}},
		"503":               {answering(t, 503, js, `{"error":"Loading model"}`), verdict.ExitUnreachable, []string{"HTTP 503", "Loading model", "--wait"}},
		"no scheme":         {"localhost:8000", verdict.ExitUsage, []string{`"localhost:8000"`, "http://HOST:PORT"}},
		"an endpoint":       {"http://127.0.0.1:9/v1/chat/completions", verdict.ExitUsage, []string{"names an endpoint"}},
		"a password in it":  {"http://me:secret@127.0.0.1:9", verdict.ExitUsage, []string{"TOUCHSTONE_API_KEY"}},
		"another file type": {"ftp://127.0.0.1", verdict.ExitUsage, []string{"http://HOST:PORT"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, dir := gated(t, c.target)
			o.want(t, c.code, c.words...)
			if !missing(dir) {
				t.Error("a run folder was made for a run that never began")
			}
			touchstone(t, "bench", "--target", c.target, "--out", dir).want(t, c.code, c.words...)
		})
	}
}

// A reachable API whose generations fail, hang or stop half way is a broken
// build, and no wrong set-up.
func TestServersThatBreak(t *testing.T) {
	healthy := serve(t, refserver.Config{})
	for name, c := range map[string]struct {
		first func(http.ResponseWriter, *http.Request) bool
		args  []string
		words []string
	}{
		"hangs": {func(_ http.ResponseWriter, r *http.Request) bool {
			if !generation(r) {
				return false
			}
			// Only a server that has read the request notices that its client left.
			io.Copy(io.Discard, r.Body) //nolint:errcheck,gosec // nothing is done with it
			<-r.Context().Done()
			return true
		}, []string{"--timeout", "500ms"}, []string{"server.died", "timeout"}},
		"500 to every generation": {func(w http.ResponseWriter, r *http.Request) bool {
			if !generation(r) {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"error":{"message":"EngineDeadError"}}`) //nolint:errcheck // the client may be gone
			return true
		}, nil, []string{"server.died", "HTTP 500", "EngineDeadError"}},
		"HTML to every generation": {func(w http.ResponseWriter, r *http.Request) bool {
			if !generation(r) {
				return false
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>sign in</html>") //nolint:errcheck // the client may be gone
			return true
		}, nil, []string{"server.died", "malformed"}},
		"500 from the middle on": {counted(func(n int64, w http.ResponseWriter, _ *http.Request) bool {
			if n < midway {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}), nil, []string{"server.failures", "HTTP 500"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := gated(t, front(t, healthy, c.first).URL, append(c.args, good(t)...)...)
			o.want(t, verdict.ExitRegression, append(c.words, "FAIL")...)
		})
	}
}

func TestServerDiesHalfWay(t *testing.T) {
	for name, baseline := range map[string][]string{"baseline": good(t), "no baseline": nil} {
		t.Run(name, func(t *testing.T) {
			var s *httptest.Server
			s = front(t, serve(t, refserver.Config{}), counted(func(n int64, w http.ResponseWriter, _ *http.Request) bool {
				if n < midway {
					return false
				}
				s.Listener.Close() //nolint:errcheck,gosec // the second time it is closed already
				conn, _, err := http.NewResponseController(w).Hijack()
				if err == nil {
					conn.Close() //nolint:errcheck,gosec // that is the point
				}
				return true
			}))
			o, dir := gated(t, s.URL, baseline...)
			o.want(t, verdict.ExitRegression, "server.died", "the server went away")
			if !failed(verdictOf(t, dir), verdict.ServerDied) {
				t.Error("no finding server.died")
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	limited := front(t, serve(t, refserver.Config{}), counted(func(n int64, w http.ResponseWriter, _ *http.Request) bool {
		if n < midway {
			return false
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}))
	o, _ := gated(t, limited.URL, good(t)...)
	o.want(t, verdict.ExitInconclusive, "INCONCLUSIVE", "429", "--concurrency")
}

func TestModels(t *testing.T) {
	healthy := serve(t, refserver.Config{})
	o, _ := gated(t, healthy, "--model", "llama-9")
	o.want(t, verdict.ExitUsage, `"llama-9" is not served`, "touchstone-tiny")
	o, _ = gated(t, healthy, "--model", "touchstone-tiny")
	o.want(t, verdict.ExitPass)

	two := front(t, healthy, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/models" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[{"id":"touchstone-tiny"},{"id":"another"}]}`) //nolint:errcheck // the client may be gone
		return true
	}).URL
	o, _ = gated(t, two)
	o.want(t, verdict.ExitUsage, "several models", "--model", "another, touchstone-tiny")
	o, _ = gated(t, two, "--model", "touchstone-tiny")
	o.want(t, verdict.ExitPass)
}

// --wait waits until the server generates: a model list alone is no sign.
func TestWait(t *testing.T) {
	healthy := serve(t, refserver.Config{})
	var lists atomic.Int64
	slow := front(t, healthy, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/models" {
			return false
		}
		if lists.Add(1) > 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	o, _ := gated(t, slow.URL, "--wait", "1m")
	o.want(t, verdict.ExitPass, "waiting: HTTP 503")

	o, _ = gated(t, closed(t), "--wait", "10ms")
	o.want(t, verdict.ExitUnreachable, "did not generate within 10ms", "raise --wait")
}
