package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"touchstone/harness/exchange"
)

// The sixteen traps of go-openai v1.43.0 (style.md §3.2), one test each,
// against a server that does its worst.

const (
	chunkA = `{"choices":[{"index":0,"text":"a","finish_reason":null}]}`
	chunkB = `{"choices":[{"index":0,"text":"b","finish_reason":"length"}]}`
	object = `{"choices":[{"index":0,"text":"ab","message":{"role":"assistant","content":"ab"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
)

func sse(objects ...string) string {
	return "data: " + strings.Join(append(objects, "[DONE]"), "\n\ndata: ") + "\n\n"
}

// hostile is a server that answers with handle, and a client for it.
func hostile(t *testing.T, o Options, handle http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Read the request first, as a real server does: until then net/http
		// doesn't notice that the client is gone.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handle(w, r)
	}))
	t.Cleanup(srv.Close)
	o.BaseURL = srv.URL
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle) // before srv.Close, which waits for connections
	return c
}

// says answers every request with one body.
func says(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func stream(body string) http.HandlerFunc { return says("text/event-stream", body) }

// got is what a server was sent.
type got struct {
	path string
	body map[string]json.RawMessage
	raw  string
}

// listens keeps the request and answers in the form that it asks for.
func listens(t *testing.T, into *got) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*into = got{path: r.URL.Path, raw: string(data)}
		if err := json.Unmarshal(data, &into.body); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if string(into.body["stream"]) == "true" {
			stream(sse(chunkA, chunkB))(w, r)
			return
		}
		says("application/json", object)(w, r)
	}
}

func request(api exchange.API, streamed bool, params map[string]any) exchange.Request {
	r := exchange.Request{ID: "t/1", Probe: "t", API: api, Stream: streamed, Params: params}
	if api == exchange.Chat {
		r.Messages = []exchange.Message{{Role: "user", Content: "hi"}}
	} else {
		r.Prompt = "hi"
	}
	return r
}

// everyForm runs f for chat and completions, streamed and not.
func everyForm(t *testing.T, f func(t *testing.T, api exchange.API, streamed bool)) {
	t.Helper()
	for _, api := range []exchange.API{exchange.Chat, exchange.Completions} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", api, streamed), func(t *testing.T) { f(t, api, streamed) })
		}
	}
}

func decode(t *testing.T, x *exchange.Exchange) *exchange.Reply {
	t.Helper()
	r, f := exchange.Decode(x)
	if f != nil {
		t.Fatalf("failure %v", f)
	}
	return r
}

func wantFailure(t *testing.T, x *exchange.Exchange, class exchange.Class, parts ...string) {
	t.Helper()
	if x.Failure == nil {
		t.Fatalf("no failure, want %s", class)
	}
	if x.Failure.Class != class {
		t.Errorf("failure %v, want %s", x.Failure, class)
	}
	for _, p := range parts {
		if !strings.Contains(x.Failure.Detail, p) {
			t.Errorf("%q doesn't hold %q", x.Failure.Detail, p)
		}
	}
}

// sends checks the fields that arrive, and that the exchange says the same.
func sends(t *testing.T, r exchange.Request, want map[string]string) {
	t.Helper()
	var g got
	x := hostile(t, Options{}, listens(t, &g)).Do(t.Context(), r)
	if x.Failure != nil {
		t.Fatal(x.Failure)
	}
	if g.path != r.API.Path() {
		t.Errorf("path %s, want %s", g.path, r.API.Path())
	}
	for field, v := range want {
		if string(g.body[field]) != v {
			t.Errorf("%s arrived as %q, want %q in %s", field, g.body[field], v, g.raw)
		}
	}
	if g.raw != string(x.Sent) {
		t.Errorf("recorded as sent: %s\narrived: %s", x.Sent, g.raw)
	}
}

func TestTrap01ZerosAreSent(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		sends(t, request(api, streamed, map[string]any{"temperature": 0, "top_p": 0.0, "max_tokens": 0, "seed": 0}),
			map[string]string{"temperature": "0", "top_p": "0", "max_tokens": "0", "seed": "0"})
	})
}

// 1e-45 is sampled on vLLM, which raises it to 0.01.
func TestTrap02ZeroIsNotTiny(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		var g got
		hostile(t, Options{}, listens(t, &g)).Do(t.Context(), request(api, streamed, map[string]any{"temperature": float32(0)}))
		if strings.Contains(g.raw, "e-") || string(g.body["temperature"]) != "0" {
			t.Error(g.raw)
		}
	})
}

func TestTrap03ZeroLogprobsAreSent(t *testing.T) {
	sends(t, request(exchange.Completions, false, map[string]any{"logprobs": 0}), map[string]string{"logprobs": "0"})
	sends(t, request(exchange.Chat, false, map[string]any{"logprobs": true, "top_logprobs": 0}), map[string]string{"logprobs": "true", "top_logprobs": "0"})
}

func TestTrap04TokenIDPrompts(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		r := request(exchange.Completions, streamed, nil)
		r.Prompt, r.PromptIDs = "", []int{1, 0, 2047}
		sends(t, r, map[string]string{"prompt": "[1,0,2047]"})
	}
}

func TestTrap05ExtraFields(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		sends(t, request(api, streamed, map[string]any{
			"ignore_eos": true, "min_tokens": 8, "return_token_ids": true, "prompt_logprobs": 0, "top_k": -1,
			"cache_salt": "x", "vllm_xargs": map[string]any{"a": []int{1}}, "cache_prompt": false, "stop_token_ids": []int{2},
			"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true},
		}), map[string]string{
			"ignore_eos": "true", "min_tokens": "8", "return_token_ids": "true", "prompt_logprobs": "0", "top_k": "-1",
			"cache_salt": `"x"`, "vllm_xargs": `{"a":[1]}`, "cache_prompt": "false", "stop_token_ids": "[2]",
			"stream_options": `{"continuous_usage_stats":true,"include_usage":true}`,
		})
	})
}

// guided_choice is ignored by today's vLLM; its structured_outputs has no
// field in go-openai. Whether it took effect only the reply can show.
func TestTrap06StructuredOutputs(t *testing.T) {
	r := request(exchange.Chat, false, map[string]any{"structured_outputs": map[string]any{"choice": []string{"yes", "no"}}})
	sends(t, r, map[string]string{"structured_outputs": `{"choice":["yes","no"]}`, "guided_choice": ""})
}

func TestTrap07Reasoning(t *testing.T) {
	for _, field := range []string{"reasoning", "reasoning_content"} {
		streamed := hostile(t, Options{}, stream(sse(
			`{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}`,
			`{"choices":[{"index":0,"delta":{"`+field+`":"think"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`)))
		whole := hostile(t, Options{}, says("application/json", `{"choices":[{"index":0,"message":{"content":"yes","`+field+`":"think"},"finish_reason":"stop"}]}`))
		for i, c := range []*Client{whole, streamed} {
			r := decode(t, c.Do(t.Context(), request(exchange.Chat, i == 1, nil)))
			if r.Reasoning != "think" || r.Text != "yes" {
				t.Errorf("%s: %q and %q", field, r.Reasoning, r.Text)
			}
		}
	}
}

func TestTrap08VendorFields(t *testing.T) {
	body := sse(`{"choices":[{"index":0,"text":"a","token_ids":[7],"prompt_token_ids":[1,2],"stop_reason":null,"finish_reason":"length"}],"metrics":{"x":1}}`,
		`{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3},"timings":{"cache_n":1}}`)
	x := hostile(t, Options{}, stream(body)).Do(t.Context(), request(exchange.Completions, true, nil))
	if string(x.Raw) != body {
		t.Errorf("raw bytes differ:\n%s\n%s", x.Raw, body)
	}
	r := decode(t, x)
	if !cmp.Equal(r.TokenIDs, []int{7}) || !cmp.Equal(r.PromptTokenIDs, []int{1, 2}) || *r.Usage.Cached != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTrap09EndWithoutDone(t *testing.T) {
	for name, body := range map[string]string{
		"no [DONE]":       "data: " + chunkA + "\n\ndata: " + chunkB + "\n\n",
		"cut JSON":        "data: " + chunkA + "\n\ndata: " + chunkB[:20],
		"no finish":       sse(chunkA),
		"nothing":         ": ping\n\n",
		"done but no end": sse(chunkA, chunkA),
	} {
		x := hostile(t, Options{}, stream(body)).Do(t.Context(), request(exchange.Completions, true, nil))
		t.Log(name)
		if name == "nothing" {
			wantFailure(t, x, exchange.Malformed)
		} else {
			wantFailure(t, x, exchange.Truncated)
		}
	}
}

func TestTrap10ErrorInTheStream(t *testing.T) {
	for _, e := range []string{
		`data: {"error":{"message":"CUDA error"}}`, `data: { "error" : {"message":"CUDA error"}}`, `data: {"object":"error","message":"CUDA error"}`,
		`error: {"message":"CUDA error"}`, "event: error\ndata: {\"message\":\"CUDA error\"}",
	} {
		for _, end := range []string{"\n\n", "\n\ndata: [DONE]\n\n"} {
			x := hostile(t, Options{}, stream("data: "+chunkA+"\n\n"+e+end)).Do(t.Context(), request(exchange.Completions, true, nil))
			wantFailure(t, x, exchange.Malformed, "CUDA error")
			if r, _ := exchange.Decode(x); r.Text != "a" {
				t.Errorf("text before the error is lost: %q", r.Text)
			}
		}
	}
}

func TestTrap11NoReplyUnder200(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		for body, part := range map[string]string{
			"<html><body>Welcome to nginx!</body></html>": "nginx",
			`{"error":{"message":"no GPU"}}`:              "no GPU",
			`{"choices":[]}`:                              "choices",
			"":                                            "",
		} {
			for _, ctype := range []string{"text/html", "application/json", "text/event-stream"} {
				x := hostile(t, Options{}, says(ctype, body)).Do(t.Context(), request(api, streamed, nil))
				if ctype == "text/html" {
					part = ""
				}
				wantFailure(t, x, exchange.Malformed, part)
				if string(x.Raw) != body || x.ContentType != ctype || x.Status != 200 {
					t.Errorf("recorded %d, %s, %s", x.Status, x.ContentType, x.Raw)
				}
			}
		}
	})
}

func TestTrap12ManyPings(t *testing.T) {
	body := strings.Repeat(": ping\n\n", 2000) + sse(chunkA, chunkB)
	x := hostile(t, Options{}, stream(body)).Do(t.Context(), request(exchange.Completions, true, nil))
	if r := decode(t, x); r.Text != "ab" || !r.Done {
		t.Errorf("%q after 2000 pings", r.Text)
	}
}

// Silence ends in a time-out of its phase, and pings are silence.
func TestTrap13Silence(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before string
		ping   bool
		class  exchange.Class
		text   string
	}{
		{"before the first token", "", false, exchange.TimeoutFirst, ""},
		{"before the first token, with pings", "", true, exchange.TimeoutFirst, ""},
		{"after the role alone", "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n", true, exchange.TimeoutFirst, ""},
		{"after a token", "data: " + chunkA + "\n\n", false, exchange.TimeoutStall, "a"},
		{"after a token, with pings", "data: " + chunkA + "\n\n", true, exchange.TimeoutStall, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			limits := Timeouts{FirstToken: 60 * time.Millisecond, Stall: 60 * time.Millisecond, Total: time.Minute}
			c := hostile(t, Options{Timeouts: limits}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tc.before)
				w.(http.Flusher).Flush()
				tick := time.NewTicker(5 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-r.Context().Done():
						return
					case <-tick.C:
						if tc.ping {
							_, _ = io.WriteString(w, ": ping\n\n")
							w.(http.Flusher).Flush()
						}
					}
				}
			})
			x := c.Do(t.Context(), request(exchange.Completions, true, nil))
			wantFailure(t, x, tc.class, "60ms")
			if r, _ := exchange.Decode(x); r.Text != tc.text {
				t.Errorf("text %q, want %q", r.Text, tc.text)
			}
			if tc.ping && !strings.Contains(string(x.Raw), ": ping") {
				t.Error("no ping arrived: the test shows nothing")
			}
		})
	}
}

func TestTrap14ModelNames(t *testing.T) {
	everyForm(t, func(t *testing.T, api exchange.API, streamed bool) {
		for _, model := range []string{"gpt-4o", "gpt-4", "o1-mini", "o3-x", "gpt-5", "gpt-3.5-turbo", "text-davinci-003", "code-davinci-002"} {
			var g got
			c := hostile(t, Options{Model: model}, listens(t, &g))
			x := c.Do(t.Context(), request(api, streamed, map[string]any{"max_tokens": 5, "temperature": 0.7, "logprobs": 1}))
			if x.Failure != nil || string(g.body["model"]) != `"`+model+`"` {
				t.Errorf("%s: %v, %s", model, x.Failure, g.raw)
			}
		}
	})
}

func TestTrap15EmptyContent(t *testing.T) {
	r := request(exchange.Chat, false, nil)
	r.Messages = []exchange.Message{{Role: "system", Content: ""}, {Role: "user", Content: ""}}
	sends(t, r, map[string]string{"messages": `[{"role":"system","content":""},{"role":"user","content":""}]`})
	p := request(exchange.Completions, false, nil)
	p.Prompt = ""
	sends(t, p, map[string]string{"prompt": `""`})
}

// float32 has 24 bits: -0.1 would come back as -0.10000000149. Equal texts of
// two tokens collapse in a map; their ids keep them apart.
func TestTrap16Logprobs(t *testing.T) {
	body := `{"choices":[{"index":0,"text":"x","finish_reason":"length","logprobs":{"tokens":["token_id:5"],"token_logprobs":[-0.1],
		"top_logprobs":[{"token_id:5":-0.1,"token_id:6":-2.5}]}}]}`
	r := decode(t, hostile(t, Options{}, says("application/json", body)).Do(t.Context(), request(exchange.Completions, false, nil)))
	tok := r.Tokens[0]
	if *tok.Logprob != -0.1 || *tok.ID != 5 || len(tok.Top) != 2 || *tok.Top[1].ID != 6 {
		t.Errorf("%+v", tok)
	}
	null := `{"choices":[{"index":0,"text":"x","finish_reason":"length","logprobs":{"tokens":["x"],"token_logprobs":[null]}}]}`
	r = decode(t, hostile(t, Options{}, says("application/json", null)).Do(t.Context(), request(exchange.Completions, false, nil)))
	if r.Tokens[0].Logprob != nil {
		t.Errorf("null became %v", *r.Tokens[0].Logprob)
	}
}

// ENGINES.md §1: llama-server's completions carry chat-style log-probabilities,
// and its first chat delta has the role with null content.
func TestLlamaServerShapes(t *testing.T) {
	c := hostile(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			stream(sse(`{"choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","content":null}}]}`,
				`{"choices":[{"index":0,"finish_reason":null,"delta":{"content":"ok"}}]}`, `{"choices":[{"index":0,"finish_reason":"stop","delta":{}}]}`))(w, r)
			return
		}
		says("application/json; charset=utf-8", `{"choices":[{"text":"x","index":0,"finish_reason":"length","logprobs":{"content":[{"id":9,"token":"x","bytes":[120],"logprob":-0.125,"top_logprobs":[{"id":9,"token":"x","bytes":[120],"logprob":-0.125}]}]}}]}`)(w, r)
	})
	if r := decode(t, c.Do(t.Context(), request(exchange.Chat, true, nil))); r.Text != "ok" || len(r.Chunks) != 1 {
		t.Errorf("%+v", r)
	}
	r := decode(t, c.Do(t.Context(), request(exchange.Completions, false, nil)))
	if len(r.Tokens) != 1 || *r.Tokens[0].ID != 9 || *r.Tokens[0].Logprob != -0.125 {
		t.Errorf("%+v", r.Tokens)
	}
}
