package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"touchstone/harness/client"
)

// fake is an OpenAI API whose abilities are fields.
type fake struct {
	chat, completions bool
	fields            []string // sampling fields it takes; nil: all
	tokenIDs          bool     // return_token_ids has an effect
	logprobs          int      // alternatives it tells; 0: none
	countsPrompt      bool     // counts a prompt of token ids rightly
	stream            bool     // answers a stream as one
	streamUsage       bool
	longest           int    // tokens it generates at most, whatever ignore_eos says
	cached            bool   // tells cached tokens
	tokenize          string // the field that /tokenize takes
	hangs             bool   // generations never come
	owner             string
	models            string                   // the body of /v1/models instead
	first             func(n int) (status int) // answers the n-th request, from 1, when it returns a status
	pages             map[string]string        // further paths and their bodies
	mu                sync.Mutex
	asked             []string // paths of the requests, in order
}

func full() *fake {
	return &fake{chat: true, completions: true, tokenIDs: true, logprobs: 2, countsPrompt: true, stream: true,
		streamUsage: true, longest: 1000, cached: true, tokenize: "prompt", owner: "somebody"}
}

// start serves the fake and returns a client for it.
func (f *fake) start(t *testing.T, timeouts client.Timeouts) *client.Client {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return dial(t, s.URL, timeouts)
}

func dial(t *testing.T, address string, timeouts client.Timeouts) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: address, Timeouts: timeouts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// count says how many requests went to a path.
func (f *fake) count(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.asked {
		if p == path {
			n++
		}
	}
	return n
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.Path)
	n := len(f.asked)
	f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if f.first != nil {
		if status := f.first(n); status != 0 {
			reply(w, status, `{"error":{"message":"loading"}}`)
			return
		}
	}
	switch {
	case r.URL.Path == "/v1/models":
		if f.models == "" {
			f.models = fmt.Sprintf(`{"object":"list","data":[{"id":"m","owned_by":%q,"max_model_len":4096,"meta":{"n_vocab":32000}}]}`, f.owner)
		}
		reply(w, http.StatusOK, f.models)
	case f.pages[r.URL.Path] != "":
		reply(w, http.StatusOK, f.pages[r.URL.Path])
	case r.URL.Path == "/v1/chat/completions" && f.chat, r.URL.Path == "/v1/completions" && f.completions:
		if f.hangs {
			<-r.Context().Done()
			return
		}
		f.generate(w, body, r.URL.Path == "/v1/chat/completions")
	case r.URL.Path == "/tokenize" && f.tokenize != "":
		f.tokens(w, body)
	default:
		reply(w, http.StatusNotFound, `{"detail":"Not Found"}`)
	}
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body) //nolint:errcheck,gosec // the client may be gone
}

func (f *fake) tokens(w http.ResponseWriter, body []byte) {
	var q map[string]any
	if json.Unmarshal(body, &q) != nil || q[f.tokenize] == nil {
		reply(w, http.StatusBadRequest, `{"error":{"message":"a field is missing"}}`)
		return
	}
	reply(w, http.StatusOK, `{"tokens":[5,6,7]}`)
}

// base are the fields that every server takes.
var base = []string{"model", "messages", "prompt", "max_tokens", "temperature", "stream", "stream_options", "logprobs", "top_logprobs", "return_token_ids", "ignore_eos"}

func (f *fake) generate(w http.ResponseWriter, body []byte, chat bool) {
	var q map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		reply(w, http.StatusBadRequest, `{"error":{"message":"no JSON"}}`)
		return
	}
	for name := range q {
		if f.fields != nil && !slices.Contains(base, name) && !slices.Contains(f.fields, name) {
			reply(w, http.StatusBadRequest, `{"error":{"message":"unknown field `+name+`"}}`)
			return
		}
	}
	n := min(int(q["max_tokens"].(float64)), f.longest)
	prompt := 9
	if ids, ok := q["prompt"].([]any); ok && f.countsPrompt {
		prompt = len(ids)
	}
	usage := map[string]any{"prompt_tokens": prompt, "completion_tokens": n, "total_tokens": prompt + n}
	if f.cached {
		usage["prompt_tokens_details"] = map[string]any{"cached_tokens": 0}
	}
	text := strings.TrimSpace(strings.Repeat("yes ", n))
	choice := map[string]any{"index": 0, "finish_reason": "length", "text": text}
	if chat {
		choice["message"] = map[string]any{"role": "assistant", "content": text}
		choice["delta"] = choice["message"]
	}
	out := map[string]any{"id": "x", "object": "chat.completion", "model": "m", "choices": []any{choice}, "usage": usage, "system_fingerprint": "fp1"}
	if f.tokenIDs && q["return_token_ids"] == true {
		choice["token_ids"], choice["prompt_token_ids"], out["prompt_token_ids"] = []int{5}, []int{1, 2}, []int{1, 2}
	}
	if f.logprobs > 0 && q["logprobs"] == true {
		var top []any
		for i := range f.logprobs {
			top = append(top, map[string]any{"token": string(rune('a' + i)), "logprob": -1 - i, "bytes": []int{97 + i}})
		}
		choice["logprobs"] = map[string]any{"content": []any{map[string]any{"token": "a", "logprob": -1, "bytes": []int{97}, "top_logprobs": top}}}
	}
	f.send(w, out, q)
}

// send writes a reply whole, or as a stream of one chunk.
func (f *fake) send(w http.ResponseWriter, out, q map[string]any) {
	if q["stream"] == true && f.stream {
		if q["stream_options"] == nil || !f.streamUsage {
			delete(out, "usage")
		}
		out["object"] = "chat.completion.chunk"
	}
	b, err := json.Marshal(out)
	if err != nil {
		reply(w, http.StatusInternalServerError, err.Error())
		return
	}
	if q["stream"] != true || !f.stream {
		reply(w, http.StatusOK, string(b))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", b) //nolint:errcheck // the client may be gone
}
