package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"touchstone/harness/exchange"
)

// short is a limit that a test waits for; long is one that must not be met.
const (
	short = 60 * time.Millisecond
	long  = time.Minute
)

// hangs accepts the request and then says nothing until the client is gone.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client went away
	<-r.Context().Done()
}

func TestHeaderTimeout(t *testing.T) {
	c := hostile(t, Options{Timeouts: Timeouts{Header: short, Total: long}}, hangs)
	wantFailure(t, c.Do(t.Context(), request(exchange.Chat, true, nil)), exchange.TimeoutHeader, "60ms")
}

// A body in one piece that stops half way.
func TestBodyStall(t *testing.T) {
	c := hostile(t, Options{Timeouts: Timeouts{FirstToken: short, Stall: short}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object[:20])
		w.(http.Flusher).Flush()
		hangs(w, r)
	})
	x := c.Do(t.Context(), request(exchange.Completions, false, nil))
	wantFailure(t, x, exchange.TimeoutStall)
	if string(x.Raw) != object[:20] {
		t.Errorf("kept %q", x.Raw)
	}
}

// A limit that isn't met in its phase is not met at all: limits switched off.
func TestLimitsOff(t *testing.T) {
	off := Timeouts{Connect: -1, Header: -1, FirstToken: -1, Stall: -1, Total: -1}
	x := hostile(t, Options{Timeouts: off}, stream(sse(chunkA, chunkB))).Do(t.Context(), request(exchange.Completions, true, nil))
	if x.Failure != nil {
		t.Error(x.Failure)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+chunkA+"\n\n")
		w.(http.Flusher).Flush()
		cancel()
		hangs(w, r)
	})
	wantFailure(t, c.Do(ctx, request(exchange.Completions, true, nil)), exchange.Cancelled)
	wantFailure(t, c.Do(ctx, request(exchange.Completions, false, nil)), exchange.Cancelled)

	deadline, stop := context.WithTimeout(t.Context(), short)
	defer stop()
	wantFailure(t, hostile(t, Options{}, hangs).Do(deadline, request(exchange.Chat, false, nil)), exchange.TimeoutTotal, "caller")
}

// [DONE] was seen and the connection stays open, or breaks: nothing is missing.
func TestAfterDone(t *testing.T) {
	body := sse(chunkA, chunkB)
	for name, end := range map[string]http.HandlerFunc{
		"open":   hangs,
		"broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		x := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			stream(body)(w, r)
			w.(http.Flusher).Flush()
			end(w, r)
		}).Do(t.Context(), request(exchange.Completions, true, nil))
		if x.Failure != nil {
			t.Errorf("%s: %v", name, x.Failure)
		}
		if last := x.Timeline.Reads[len(x.Timeline.Reads)-1].At; x.Timeline.End != last {
			t.Errorf("%s: ended at %s, the last byte came at %s", name, x.Timeline.End, last)
		}
	}
}

// go-openai stops reading, and closes, once it has one JSON value. What comes
// behind it is read all the same, and its lateness is no break.
func TestLateEndOfBody(t *testing.T) {
	for end, class := range map[string]exchange.Class{"\n": "", "{": exchange.Malformed} {
		x := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			says("application/json", object)(w, r)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(short):
			case <-r.Context().Done():
				t.Error("the client hung up")
			}
			_, _ = io.WriteString(w, end)
		}).Do(t.Context(), request(exchange.Completions, false, nil))
		if string(x.Raw) != object+end {
			t.Errorf("kept %q", x.Raw)
		}
		if class != "" {
			wantFailure(t, x, class)
		} else if x.Failure != nil {
			t.Error(x.Failure)
		}
	}
}

func TestDropped(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		half := hostile(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+chunkA+"\n\ndata: {")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		x := half.Do(t.Context(), request(api, streamed, nil))
		wantFailure(t, x, exchange.Dropped, "after")
		if !strings.Contains(string(x.Raw), chunkA) || x.Status != 200 {
			t.Errorf("kept %d, %q", x.Status, x.Raw)
		}
		dead := hostile(t, Options{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		wantFailure(t, dead.Do(t.Context(), request(api, streamed, nil)), exchange.Dropped, "before the status line")
	})
}

func TestRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	for url, part := range map[string]string{"http://" + address: "refused", "http://no-such-host.invalid": "no-such-host.invalid"} {
		c, err := New(Options{BaseURL: url, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		for _, api := range []exchange.API{exchange.Chat, exchange.Completions, exchange.Tokenize} {
			x := c.Do(t.Context(), request(api, false, nil))
			wantFailure(t, x, exchange.Refused, part)
			if x.Status != 0 || x.Timeline.End <= 0 {
				t.Errorf("%+v", x)
			}
		}
		if _, _, _, err := c.Get(t.Context(), "/v1/models"); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Get: %v", err)
		}
	}
}

// A listener that never accepts still connects on Linux, so the half of the
// phase that can hang here is TLS.
func TestConnectTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	c, err := New(Options{BaseURL: "https://" + ln.Addr().String(), Model: "m", Timeouts: Timeouts{Connect: short, Header: long}})
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, c.Do(t.Context(), request(exchange.Chat, true, nil)), exchange.Refused, "no connection within 60ms")
}

func TestNotHTTP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			// One read first: net/http drops a connection that speaks unasked.
			_, _ = conn.Read(make([]byte, 1))
			_, _ = io.WriteString(conn, "-ERR unknown command\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	c, err := New(Options{BaseURL: "http://" + ln.Addr().String(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, c.Do(t.Context(), request(exchange.Chat, true, nil)), exchange.Malformed, "no HTTP")
	// The other way round: TLS towards a server without it.
	plain := hostile(t, Options{}, hangs)
	c, err = New(Options{BaseURL: strings.Replace(plain.Root(), "http:", "https:", 1), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, c.Do(t.Context(), request(exchange.Chat, true, nil)), exchange.Refused, "write http://")
}

// counted is a bare server that counts the requests it was sent whole, and
// ends the connection after the n-th without an answer.
func counted(t *testing.T, dies int64) (*Client, *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	var n atomic.Int64
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() //nolint:errcheck // the test is over
				in := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if n.Add(1) == dies {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "+strconv.Itoa(len(object))+"\r\n\r\n"+object)
				}
			}()
		}
	}()
	c, err := New(Options{BaseURL: "http://" + ln.Addr().String(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return c, &n
}

// net/http repeats some requests on a kept connection by itself. One that
// may have reached the server must not be among them.
func TestNeverSentTwice(t *testing.T) {
	for _, api := range []exchange.API{exchange.Completions, exchange.Tokenize} {
		c, n := counted(t, 2)
		if x := c.Do(t.Context(), request(exchange.Completions, false, nil)); x.Failure != nil {
			t.Fatal(x.Failure)
		}
		x := c.Do(t.Context(), request(api, false, nil))
		wantFailure(t, x, exchange.Dropped)
		if n.Load() != 2 {
			t.Errorf("%d requests arrived, want 2", n.Load())
		}
	}
}

// A kept connection that the server closed while it was idle is no failure of
// the server, and the request still arrives once only.
func TestIdleConnectionClosed(t *testing.T) {
	var n atomic.Int64
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.Header().Set("Connection", "close")
		says("application/json", object)(w, r)
	})
	const times = 20
	for range times {
		if x := c.Do(t.Context(), request(exchange.Completions, false, nil)); x.Failure != nil {
			t.Fatal(x.Failure)
		}
	}
	if n.Load() != times {
		t.Errorf("%d requests arrived, want %d", n.Load(), times)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var n atomic.Int64
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		before := n.Load()
		wantFailure(t, c.Do(t.Context(), request(api, streamed, nil)), exchange.HTTPStatus, "307", "/elsewhere")
		if n.Load() != before+1 {
			t.Errorf("asked %d times", n.Load()-before)
		}
	})
}
