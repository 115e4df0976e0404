package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/refserver/llama"
)

type object = map[string]any

const (
	model       = "touchstone-tiny"
	completions = "/v1/completions"
	chat        = "/v1/chat/completions"
)

// start serves the tiny model.
func start(t *testing.T, cfg refserver.Config) (*refserver.Server, string) {
	t.Helper()
	cfg.GGUF, cfg.ModelName, cfg.Version = "../../../fixtures/models/tiny/touchstone-tiny-f32.gguf", model, "test"
	s, err := refserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { h.Close(); s.Close() })
	return s, h.URL
}

// call sends a request; body may be a string, sent as it is.
func call(t *testing.T, method, url string, body any) (int, []byte) {
	t.Helper()
	res := open(t, t.Context(), method, url, body)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, data
}

func open(t *testing.T, ctx context.Context, method, url string, body any) *http.Response {
	t.Helper()
	data, isText := body.(string)
	if !isText && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		data = string(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// reply is what a request amounts to, streamed or not.
type reply struct {
	Text     string
	IDs      []int
	Prompt   []int
	Finish   string
	Stop     any
	Usage    map[string]any
	Logprobs []any   // entries, in order
	Events   []event // streamed only
	ID       string
}

type event struct {
	ID      string
	Object  string
	Model   string
	System  string `json:"system_fingerprint"`
	Choices []struct {
		Text    *string
		Delta   map[string]any
		Message map[string]any
		Finish  *string        `json:"finish_reason"`
		Stop    any            `json:"stop_reason"`
		IDs     []int          `json:"token_ids"`
		Prompt  []int          `json:"prompt_token_ids"`
		Log     map[string]any `json:"logprobs"`
	}
	Prompt []int `json:"prompt_token_ids"`
	Usage  map[string]any
}

// ask sends a request that must succeed.
func ask(t *testing.T, url string, body object) reply {
	t.Helper()
	res := open(t, t.Context(), "POST", url, body)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		t.Fatalf("status %d: %s", res.StatusCode, data)
	}
	var r reply
	if body["stream"] != true {
		r.add(decode[event](t, data))
		return r
	}
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		t.Errorf("content type %q", ct)
	}
	done := false
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case lines.Text() == "":
		case !ok || done:
			t.Fatalf("line %q, done %v", lines.Text(), done)
		case line == "[DONE]":
			done = true
		default:
			r.add(decode[event](t, []byte(line)))
		}
	}
	if !done {
		t.Error("the stream does not end in [DONE]")
	}
	return r
}

func (r *reply) add(e event) {
	r.Events = append(r.Events, e)
	r.ID = e.ID
	r.Prompt = append(r.Prompt, e.Prompt...)
	if e.Usage != nil {
		r.Usage = e.Usage
	}
	for _, c := range e.Choices {
		if c.Text != nil {
			r.Text += *c.Text
		}
		for _, m := range []map[string]any{c.Delta, c.Message} {
			if s, ok := m["content"].(string); ok {
				r.Text += s
			}
		}
		r.IDs = append(r.IDs, c.IDs...)
		r.Prompt = append(r.Prompt, c.Prompt...)
		if c.Finish != nil {
			r.Finish, r.Stop = *c.Finish, c.Stop
		}
		if content, ok := c.Log["content"].([]any); ok {
			r.Logprobs = append(r.Logprobs, content...)
		}
		if tokens, ok := c.Log["tokens"].([]any); ok {
			for i := range tokens {
				r.Logprobs = append(r.Logprobs, []any{tokens[i], c.Log["token_logprobs"].([]any)[i],
					c.Log["top_logprobs"].([]any)[i], c.Log["text_offset"].([]any)[i]})
			}
		}
	}
}

// with returns a copy of a request with more fields.
func with(base object, more object) object {
	out := object{}
	for _, m := range []object{base, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// plain are greedy requests whose answers are known to end by themselves.
var (
	plainText = object{"model": model, "prompt": "What is the capital of Norway?", "temperature": 0, "max_tokens": 40}
	plainChat = object{"model": model, "messages": []object{{"role": "user", "content": "What is the capital of Norway?"}}, "temperature": 0, "max_tokens": 40}
)

// nanHooks make every logit NaN.
func nanHooks() *llama.Hooks {
	return &llama.Hooks{Logits: func(_ []llama.Row, logits []float32) {
		for i := range logits {
			logits[i] = float32(math.NaN())
		}
	}}
}
