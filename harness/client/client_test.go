package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"touchstone/harness/exchange"
)

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:1":             "http://h:1",
		"http://h:1/":            "http://h:1",
		"http://h:1/v1":          "http://h:1",
		"http://h:1/v1//":        "http://h:1",
		" https://h/api/v1/ ":    "https://h/api",
		"http://[::1]:8000/v1":   "http://[::1]:8000",
		"http://h/v1beta":        "http://h/v1beta",
		"http://h:1/prefix%20/":  "http://h:1/prefix%20",
		"http://127.0.0.1:8000/": "http://127.0.0.1:8000",
	} {
		c, err := New(Options{BaseURL: in})
		if err != nil {
			t.Errorf("%q: %v", in, err)
		} else if c.Root() != want {
			t.Errorf("%q became %q, want %q", in, c.Root(), want)
		}
	}
	for in, part := range map[string]string{
		"":                               "empty",
		"localhost:8000":                 "http://",
		"127.0.0.1:8000":                 "http://",
		"ftp://h":                        "http://",
		"http://":                        "no host",
		"http://:8000":                   "no host",
		"http://h?x=1":                   "query",
		"http://h/v1/chat/completions":   "endpoint",
		"http://user:topsecretpw@h:1/v1": "TOUCHSTONE_API_KEY",
	} {
		_, err := New(Options{BaseURL: in})
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", in, err, part)
		}
		if err != nil && strings.Contains(err.Error(), "topsecretpw") {
			t.Errorf("the password stands in %v", err)
		}
	}
}

func TestStatuses(t *testing.T) {
	for _, tc := range []struct {
		status int
		body   string
		header map[string]string
		parts  []string
	}{
		{401, `{"error":"Unauthorized"}`, nil, []string{"HTTP 401: Unauthorized"}},
		{403, ``, nil, []string{"HTTP 403"}},
		{404, `{"object":"error","message":"The model x does not exist.","code":404}`, nil, []string{"does not exist"}},
		{429, `{"error":{"message":"slow down"}}`, map[string]string{"Retry-After": "7"}, []string{"slow down", "Retry-After: 7"}},
		{500, `Internal Server Error`, nil, []string{"Internal Server Error"}},
		{502, `<html><h1>502 Bad Gateway</h1></html>`, nil, []string{"HTML", "502 Bad Gateway"}},
		{503, `{"error":{"message":"Loading model","code":503}}`, nil, []string{"Loading model"}},
	} {
		everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
			n := 0
			c := hostile(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
				n++
				for k, v := range tc.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			x := c.Do(t.Context(), request(api, streamed, nil))
			wantFailure(t, x, exchange.HTTPStatus, tc.parts...)
			if x.Status != tc.status || string(x.Raw) != tc.body {
				t.Errorf("recorded %d, %q", x.Status, x.Raw)
			}
			if n != 1 {
				t.Errorf("asked %d times: a retry hides the fault", n)
			}
		})
	}
}

// A server that repeats the key wherever it can.
func TestKeyStaysOut(t *testing.T) {
	const key = "sk-verysecret-0123456789"
	for _, status := range []int{200, 401} {
		c := hostile(t, Options{APIKey: key}, func(w http.ResponseWriter, r *http.Request) {
			auth := r.Header.Get("Authorization")
			if auth != "Bearer "+key {
				t.Errorf("%s: Authorization %q", r.URL.Path, auth)
			}
			w.Header().Set("Content-Type", "text/"+key)
			w.Header().Set("Retry-After", key)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"Incorrect API key: %s"}}`, auth)
		})
		everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
			x := c.Do(t.Context(), request(api, streamed, nil))
			data, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), key) {
				t.Errorf("the key stands in %s", data)
			}
			if !strings.Contains(x.Failure.Detail, "***") {
				t.Errorf("nothing was masked in %v: the test shows nothing", x.Failure)
			}
			n := 0
			for _, r := range x.Timeline.Reads {
				n += r.N
			}
			if n != len(x.Raw) {
				t.Errorf("reads of %d bytes, body of %d", n, len(x.Raw))
			}
		})
		_, _, body, err := c.Get(t.Context(), "/v1/models")
		if err != nil || strings.Contains(string(body), key) {
			t.Errorf("Get: %s, %v", body, err)
		}
		if _, err := c.Models(t.Context()); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("Models: %v", err)
		}
	}
	down, err := New(Options{BaseURL: "http://127.0.0.1:1/" + key, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	if x := down.Do(t.Context(), request(exchange.Chat, false, nil)); strings.Contains(x.Failure.Detail, key) {
		t.Errorf("the key stands in %v", x.Failure)
	}
	// What people write where no key is needed is no secret, and may stand in
	// an honest text.
	c := hostile(t, Options{APIKey: "EMPTY"}, says("application/json", strings.ReplaceAll(object, `"ab"`, `"EMPTY set"`)))
	if r := decode(t, c.Do(t.Context(), request(exchange.Completions, false, nil))); r.Text != "EMPTY set" {
		t.Errorf("text became %q", r.Text)
	}
}

func TestPlain(t *testing.T) {
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			says("application/json", `{"object":"list","data":[{"id":"a"},{"id":"b"}]}`)(w, r)
		case "/tokenize":
			body, _ := io.ReadAll(r.Body)
			if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, %v", r.Method, r.Header)
			}
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write(body)
		}
	})
	ids, err := c.Models(t.Context())
	if err != nil || strings.Join(ids, ",") != "a,b" {
		t.Errorf("%v, %v", ids, err)
	}
	status, ctype, body, err := c.Get(t.Context(), "/v1/models")
	if err != nil || status != 200 || ctype != "application/json" || !strings.Contains(string(body), `"b"`) {
		t.Errorf("%d, %s, %s, %v", status, ctype, body, err)
	}
	status, _, body, err = c.Post(t.Context(), "/tokenize", []byte(`{"x":1}`))
	if err != nil || status != http.StatusTeapot || string(body) != `{"x":1}` {
		t.Errorf("%d, %s, %v", status, body, err)
	}
	none := hostile(t, Options{}, says("application/json", `{"object":"list","data":[]}`))
	if _, err := none.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "lists no model") {
		t.Errorf("%v", err)
	}
}

func TestTokenize(t *testing.T) {
	var g got
	c := hostile(t, Options{APIKey: "sk-0123456789"}, func(w http.ResponseWriter, r *http.Request) {
		listens(t, &g)(discard{w}, r)
		says("application/json", `{"count":2,"max_model_len":9,"tokens":[4,5]}`)(w, r)
	})
	x := c.Do(t.Context(), exchange.Request{ID: "t", API: exchange.Tokenize, Prompt: "hi"})
	r := decode(t, x)
	if *r.Count != 2 || g.path != "/tokenize" || g.raw != `{"model":"m","prompt":"hi"}` || string(x.Sent) != g.raw {
		t.Errorf("%+v, %+v", r, g)
	}
	// llama.cpp's name for the text stands in Params.
	c.Do(t.Context(), exchange.Request{ID: "t", API: exchange.Tokenize, Params: map[string]any{"content": "hi", "add_special": true}})
	if g.raw != `{"add_special":true,"content":"hi","model":"m"}` {
		t.Error(g.raw)
	}
}

type discard struct{ http.ResponseWriter }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestUnsendable(t *testing.T) {
	c := hostile(t, Options{}, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	x := c.Do(t.Context(), request(exchange.Chat, false, map[string]any{"bad": make(chan int)}))
	wantFailure(t, x, exchange.Malformed, "not sent", "t/1")
}

func TestSetModel(t *testing.T) {
	var g got
	c := hostile(t, Options{Model: "one"}, listens(t, &g))
	c.SetModel("two")
	c.Do(t.Context(), request(exchange.Chat, false, nil))
	if c.Model() != "two" || string(g.body["model"]) != `"two"` {
		t.Error(g.raw)
	}
}

// The moments of an exchange come in order, the reads add up to the body, and
// a request that was meant for earlier shows how late it went out.
func TestTimeline(t *testing.T) {
	gate := make(chan struct{})
	c := hostile(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+chunkA+"\n\n")
		w.(http.Flusher).Flush()
		<-gate
		_, _ = io.WriteString(w, sse(chunkB))
	})
	time.AfterFunc(20*time.Millisecond, func() { close(gate) })
	x := c.DoAt(t.Context(), time.Now().Add(-3*time.Second), request(exchange.Completions, true, nil))
	r := decode(t, x)
	tl := x.Timeline
	moments := []time.Duration{3 * time.Second, tl.Sent, tl.Header, r.Chunks[0].At, r.Chunks[1].At, tl.End}
	for i := 1; i < len(moments); i++ {
		if moments[i] < moments[i-1] {
			t.Errorf("moment %d before moment %d: %v", i, i-1, moments)
		}
	}
	if gap := r.Chunks[1].At - r.Chunks[0].At; gap <= 0 {
		t.Errorf("both chunks at once: %v", r.Chunks)
	}
	n := 0
	for _, r := range tl.Reads {
		n += r.N
	}
	if n != len(x.Raw) {
		t.Errorf("reads of %d bytes, body of %d", n, len(x.Raw))
	}
}

// All streams of a big load are open at the same time: no reply begins before
// the last request is there, so a limit on connections would hang here.
func TestThousandStreamsAtOnce(t *testing.T) {
	const streams = 1024
	var all sync.WaitGroup
	all.Add(streams)
	c := hostile(t, Options{Timeouts: Timeouts{Total: 30 * time.Second}}, func(w http.ResponseWriter, r *http.Request) {
		all.Done()
		all.Wait()
		stream(sse(chunkA, chunkB))(w, r)
	})
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			r := request(exchange.Completions, true, nil)
			r.ID = fmt.Sprint(i)
			x := c.Do(t.Context(), r)
			if reply, f := exchange.Decode(x); f != nil || reply.Text != "ab" {
				t.Errorf("%d: %v", i, f)
			}
		})
	}
	wg.Wait()
}

// gzip would make the kept bytes unreadable, and times meaningless.
func TestNothingIsCompressed(t *testing.T) {
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if e := r.Header.Get("Accept-Encoding"); e != "" {
			t.Errorf("Accept-Encoding: %s", e)
		}
		if r.ProtoMajor != 1 {
			t.Errorf("%s", r.Proto)
		}
		says("application/json", object)(w, r)
	})
	decode(t, c.Do(t.Context(), request(exchange.Chat, false, nil)))
}
