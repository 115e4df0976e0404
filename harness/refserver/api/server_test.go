package api_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"touchstone/harness/refserver"
)

func TestInformation(t *testing.T) {
	_, url := start(t, refserver.Config{MaxModelLen: 512})
	_, data := call(t, "GET", url+"/v1/models", nil)
	m := decode[struct {
		Object string
		Data   []struct {
			ID      string
			OwnedBy string `json:"owned_by"`
			MaxLen  int    `json:"max_model_len"`
			Meta    struct {
				Vocab  int `json:"n_vocab"`
				Ctx    int `json:"n_ctx_train"`
				Params int `json:"n_params"`
			}
		}
	}](t, data)
	// The sizes are those of the model's card.
	if m.Object != "list" || len(m.Data) != 1 || m.Data[0].ID != model || m.Data[0].OwnedBy != "touchstone" || m.Data[0].MaxLen != 512 ||
		m.Data[0].Meta.Vocab != 2048 || m.Data[0].Meta.Ctx != 1024 || m.Data[0].Meta.Params != 1_000_576 {
		t.Errorf("models: %s", data)
	}
	if status, data := call(t, "GET", url+"/health", nil); status != 200 || len(data) != 0 {
		t.Errorf("health: %d %s", status, data)
	}
	if _, data := call(t, "GET", url+"/version", nil); string(data) != `{"version":"test"}` {
		t.Errorf("version: %s", data)
	}
	if status, _ := call(t, "POST", url+completions, with(plainText, object{"max_tokens": 512})); status != 400 {
		t.Errorf("512 tokens beside a prompt in a context of 512: %d", status)
	}
}

func TestTokenize(t *testing.T) {
	_, url := start(t, refserver.Config{})
	type answer struct {
		Count  int
		MaxLen int `json:"max_model_len"`
		Tokens []int
		Strs   []string `json:"token_strs"`
	}
	ask := func(body object) answer {
		_, data := call(t, "POST", url+"/tokenize", body)
		return decode[answer](t, data)
	}
	text := "Grüße, 東京 😀"
	a := ask(object{"model": model, "prompt": text, "return_token_strs": true})
	if a.Count != len(a.Tokens) || a.MaxLen != 1024 || a.Tokens[0] != 1 || len(a.Strs) != a.Count || a.Strs[0] != "<s>" {
		t.Errorf("%+v", a)
	}
	bare := ask(object{"prompt": text, "add_special_tokens": false})
	if !slices.Equal(bare.Tokens, a.Tokens[1:]) || bare.Strs != nil {
		t.Errorf("%+v", bare)
	}
	if got := ask(object{"prompt": "", "add_special_tokens": false}); got.Count != 0 || got.Tokens == nil {
		t.Errorf("nothing: %+v", got)
	}
	messages := []object{{"role": "user", "content": "hi"}}
	open := ask(object{"messages": messages})
	closed := ask(object{"messages": messages, "add_generation_prompt": false})
	if !slices.Equal(open.Tokens, append(closed.Tokens, 4)) { // <|assistant|>
		t.Errorf("chat: %v, without the generation prompt %v", open.Tokens, closed.Tokens)
	}
	_, data := call(t, "POST", url+"/detokenize", object{"tokens": a.Tokens})
	if got := decode[struct{ Prompt string }](t, data).Prompt; got != "<s>"+text {
		t.Errorf("detokenize: %q", got)
	}
}

func TestMetricsBearVLLMNames(t *testing.T) {
	_, url := start(t, refserver.Config{})
	ask(t, url+completions, with(plainText, object{"max_tokens": 5}))
	ask(t, url+chat, with(plainChat, object{"stream": true}))
	call(t, "POST", url+completions, object{}) // refused: no request of the engine's
	_, data := call(t, "GET", url+"/metrics", nil)
	label := `{model_name="` + model + `"}`
	for _, line := range []string{
		"vllm:num_requests_running" + label + " 0",
		"vllm:num_requests_waiting" + label + " 0",
		"vllm:kv_cache_usage_perc" + label + " 0",
		"vllm:num_preemptions_total" + label + " 0",
		"vllm:prompt_tokens_total" + label + " 25", // 11, and 14 with the template's
		"vllm:prefix_cache_queries_total" + label + " 25",
		"vllm:prefix_cache_hits_total" + label + " 0",
		`vllm:request_success_total{finished_reason="length",model_name="` + model + `"} 1`,
		`vllm:request_success_total{finished_reason="stop",model_name="` + model + `"} 1`,
		`vllm:request_success_total{finished_reason="abort",model_name="` + model + `"} 0`,
		"vllm:time_to_first_token_seconds_count" + label + " 2",
		"vllm:e2e_request_latency_seconds_count" + label + " 2",
		"vllm:request_time_per_output_token_seconds_count" + label + " 2",
		"vllm:inter_token_latency_seconds_count" + label,
		"vllm:generation_tokens_total" + label,
	} {
		if !strings.Contains(string(data), line+"\n") && !strings.Contains(string(data), line+" ") {
			t.Errorf("no line %q in\n%s", line, data)
		}
	}
	problems, err := promlint.New(strings.NewReader(string(data))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		// The colon is vLLM's own breach of the convention.
		if !strings.Contains(p.Text, "':'") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestRequestID(t *testing.T) {
	_, url := start(t, refserver.Config{})
	if got := ask(t, url+completions, with(plainText, object{"request_id": "abc"})); got.ID != "cmpl-abc" {
		t.Errorf("id %q", got.ID)
	}
	a, b := ask(t, url+chat, plainChat), ask(t, url+chat, plainChat)
	if !strings.HasPrefix(a.ID, "chatcmpl-") || a.ID == b.ID {
		t.Errorf("ids %q and %q", a.ID, b.ID)
	}
}

// A client that leaves takes its sequence with it.
func TestDisconnectAborts(t *testing.T) {
	for _, stream := range []bool{true, false} {
		s, url := start(t, refserver.Config{StepTime: 5 * time.Millisecond})
		ctx, leave := context.WithCancel(t.Context())
		body := with(plainText, object{"ignore_eos": true, "max_tokens": 1000, "stream": stream})
		gone := make(chan error, 1)
		if stream {
			res := open(t, ctx, "POST", url+completions, body)
			if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			leave()
			res.Body.Close()
		} else {
			go func() {
				req, _ := http.NewRequestWithContext(ctx, "POST", url+completions, strings.NewReader(`{"prompt":"x","ignore_eos":true,"max_tokens":1000}`))
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					res.Body.Close()
				}
				gone <- err
			}()
			waitFor(t, func() bool { return s.Stats().Running == 1 })
			leave()
			if err := <-gone; err == nil {
				t.Error("the request was answered")
			}
		}
		waitFor(t, func() bool { st := s.Stats(); return st.Running == 0 && st.BlocksUsed == 0 })
		if steps := s.Stats().Steps; steps >= 1000 {
			t.Errorf("stream %v: %d steps, the sequence ran to its end", stream, steps)
		}
		waitFor(t, func() bool {
			_, data := call(t, "GET", url+"/metrics", nil)
			return strings.Contains(string(data), `finished_reason="abort",model_name="`+model+`"} 1`)
		})
	}
}

// waitFor polls until a state that must come has come; the test's own deadline
// ends it otherwise.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 30 s in vain")
		}
	}
}
