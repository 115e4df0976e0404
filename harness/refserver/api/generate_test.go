package api_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"touchstone/harness/refserver"
)

// A streamed answer says what the same answer in one piece says.
func TestStreamEqualsWhole(t *testing.T) {
	_, url := start(t, refserver.Config{})
	emoji := object{"prompt": "Repeat this text: 안녕東京привет😀", "ignore_eos": true, "max_tokens": 60, "temperature": 1.3}
	for name, more := range map[string]object{
		"greedy":     {},
		"sampled":    {"temperature": 0.9, "seed": 7, "top_p": 0.9, "top_k": 50},
		"length":     {"max_tokens": 3},
		"ignore_eos": {"ignore_eos": true, "max_tokens": 60},
		"min_tokens": {"min_tokens": 30},
		"stop":       {"stop": "Nor"},
		"stops":      {"stop": []string{"zzz", "of N", "capital o"}},
		"no stop":    {"stop": []string{"is Oslo!"}},
		"hot":        with(emoji, object{"seed": 11}),
		"hotter":     with(emoji, object{"seed": 12}),
	} {
		for path, base := range map[string]object{completions: plainText, chat: plainChat} {
			more := with(more, object{"return_token_ids": true, "logprobs": 3})
			if path == chat {
				delete(more, "prompt")
				more["logprobs"], more["top_logprobs"] = true, 3
			}
			whole := ask(t, url+path, with(base, more))
			streamed := ask(t, url+path, with(base, with(more, object{"stream": true, "stream_options": object{"include_usage": true}})))
			// The second answer may find the first one's prefix in the cache.
			delete(whole.Usage, "prompt_tokens_details")
			delete(streamed.Usage, "prompt_tokens_details")
			whole.Events, streamed.Events, whole.ID, streamed.ID = nil, nil, "", ""
			if !reflect.DeepEqual(whole, streamed) {
				t.Errorf("%s %s:\n%+v\n%+v", path, name, whole, streamed)
			}
			if n := float64(len(whole.IDs)); n == 0 || whole.Usage["completion_tokens"] != n || n != float64(len(whole.Logprobs)) ||
				whole.Usage["prompt_tokens"] != float64(len(whole.Prompt)) {
				t.Errorf("%s %s: %d ids, %d log-probabilities, %d prompt ids, usage %v", path, name, len(whole.IDs), len(whole.Logprobs), len(whole.Prompt), whole.Usage)
			}
			if !utf8.ValidString(whole.Text) {
				t.Errorf("%s %s: %q is no UTF-8", path, name, whole.Text)
			}
		}
	}
}

func TestStopStrings(t *testing.T) {
	_, url := start(t, refserver.Config{})
	full := ask(t, url+completions, with(plainText, object{"return_token_ids": true}))
	if full.Finish != "stop" || full.Stop != nil || full.IDs[len(full.IDs)-1] != 2 {
		t.Fatalf("the model's own end: %+v", full)
	}
	// Every stretch of the text, within a token and across several.
	for from := range full.Text {
		for to := from + 1; to <= len(full.Text) && to-from <= 12; to++ {
			stop := full.Text[from:to]
			got := ask(t, url+completions, with(plainText, object{"stop": []string{"never", stop}, "return_token_ids": true}))
			cut := full.Text[:strings.Index(full.Text, stop)]
			if got.Text != cut || got.Finish != "stop" || got.Stop != stop {
				t.Fatalf("stop %q: %q %s %v, want %q", stop, got.Text, got.Finish, got.Stop, cut)
			}
			if !slices.Equal(got.IDs, full.IDs[:len(got.IDs)]) || got.Usage["completion_tokens"] != float64(len(got.IDs)) {
				t.Fatalf("stop %q: ids %v, usage %v, of %v", stop, got.IDs, got.Usage, full.IDs)
			}
		}
	}
	// A stop string counts once min_tokens have been generated, not before.
	got := ask(t, url+completions, with(plainText, object{"stop": "capital", "min_tokens": 8}))
	if got.Text != full.Text || got.Stop != nil {
		t.Errorf("min_tokens 8: %q, stopped by %v", got.Text, got.Stop)
	}
}

func TestStreamChunks(t *testing.T) {
	_, url := start(t, refserver.Config{})
	ids := object{"stream": true, "return_token_ids": true, "stream_options": object{"include_usage": true, "continuous_usage_stats": true}}
	for path, base := range map[string]object{completions: plainText, chat: plainChat} {
		r := ask(t, url+path, with(base, ids))
		kind, prefix := "text_completion", "cmpl-"
		tokens := 0
		for i, e := range r.Events {
			last := i == len(r.Events)-1
			if path == chat {
				kind, prefix = "chat.completion.chunk", "chatcmpl-"
			}
			if e.Object != kind || !strings.HasPrefix(e.ID, prefix) || e.ID != r.ID || e.Model != model || !strings.HasPrefix(e.System, "touchstone-test-") {
				t.Errorf("%s event %d: %+v", path, i, e)
			}
			if last != (len(e.Choices) == 0) {
				t.Fatalf("%s event %d of %d has %d choices", path, i, len(r.Events), len(e.Choices))
			}
			for _, c := range e.Choices {
				tokens += len(c.IDs)
				if (c.Finish != nil) != (i == len(r.Events)-2) {
					t.Errorf("%s event %d: finish %v", path, i, c.Finish)
				}
				if path == chat && i > 0 && c.Delta["role"] != nil {
					t.Errorf("event %d: a second role", i)
				}
			}
			if e.Usage["completion_tokens"] != float64(tokens) {
				t.Errorf("%s event %d: usage %v after %d tokens", path, i, e.Usage, tokens)
			}
			if cached := e.Usage["prompt_tokens_details"]; last != (cached != nil) {
				t.Errorf("%s event %d: details %v", path, i, cached)
			}
		}
		if path == chat {
			first := r.Events[0].Choices[0]
			if first.Delta["role"] != "assistant" || first.Delta["content"] != "" || len(first.IDs) > 0 {
				t.Errorf("first delta %v, ids %v", first.Delta, first.IDs)
			}
			if len(r.Events[0].Prompt) != 14 {
				t.Errorf("prompt ids %v in the first event", r.Events[0].Prompt)
			}
		} else if len(r.Events[0].Choices[0].Prompt) == 0 {
			t.Error("no prompt ids in the first choice")
		}
	}
	bare := ask(t, url+chat, with(plainChat, object{"stream": true}))
	for i, e := range bare.Events {
		if e.Usage != nil || len(e.Choices) != 1 || e.Choices[0].IDs != nil || e.Prompt != nil {
			t.Errorf("event %d tells what nobody asked for: %+v", i, e)
		}
	}
}

func TestLogprobDialects(t *testing.T) {
	_, url := start(t, refserver.Config{})
	for k := range 4 {
		legacy := ask(t, url+completions, with(plainText, object{"logprobs": k, "return_token_ids": true}))
		byID := ask(t, url+completions, with(plainText, object{"logprobs": k, "return_tokens_as_token_ids": true}))
		talk := ask(t, url+chat, with(plainChat, object{"logprobs": true, "top_logprobs": k, "return_token_ids": true}))
		offset := 0
		for i, e := range legacy.Logprobs {
			e := e.([]any)
			top := e[2].(map[string]any)
			if len(top) != max(1, k) { // greedy: the token is the likeliest itself
				t.Errorf("k %d, position %d: %v", k, i, top)
			}
			if top[e[0].(string)] != e[1] || e[1].(float64) > 0 {
				t.Errorf("position %d: %v of %v", i, e, top)
			}
			if e[3] != float64(offset) {
				t.Errorf("position %d: offset %v, want %d", i, e[3], offset)
			}
			offset += utf8.RuneCountInString(e[0].(string))
			if got := byID.Logprobs[i].([]any)[0]; got != fmt.Sprintf("token_id:%d", legacy.IDs[i]) {
				t.Errorf("position %d: %v, want the token id %d", i, got, legacy.IDs[i])
			}
		}
		for i, e := range talk.Logprobs {
			e := e.(map[string]any)
			top := e["top_logprobs"].([]any)
			if len(top) != k {
				t.Errorf("k %d, position %d: %v", k, i, top)
			}
			if k > 0 && top[0].(map[string]any)["token"] != e["token"] {
				t.Errorf("position %d: %v is not first in %v", i, e["token"], top)
			}
			var b []byte
			for _, v := range e["bytes"].([]any) {
				b = append(b, byte(v.(float64)))
			}
			if string(b) != e["token"] {
				t.Errorf("position %d: bytes %q of token %q", i, b, e["token"])
			}
		}
	}
}

// NaN logits: vLLM's JSON encoder refuses the number in a whole answer and
// writes null in a stream; without log-probabilities nothing shows.
func TestNaN(t *testing.T) {
	_, url := start(t, refserver.Config{Hooks: nanHooks()})
	for path, lp := range map[string]object{completions: with(plainText, object{"logprobs": 2}), chat: with(plainChat, object{"logprobs": true, "top_logprobs": 2})} {
		status, data := call(t, "POST", url+path, lp)
		checkFailure(t, path, status, data, 500, "")
		if !strings.Contains(string(data), "Out of range float values are not JSON compliant") {
			t.Errorf("%s", data)
		}
		delete(lp, "logprobs")
		delete(lp, "top_logprobs")
		if r := ask(t, url+path, with(lp, object{"return_token_ids": true, "max_tokens": 3})); !slices.Equal(r.IDs, []int{0, 0, 0}) {
			t.Errorf("%s: ids %v, want token 0", path, r.IDs)
		}
	}
	r := ask(t, url+completions, with(plainText, object{"logprobs": 0, "stream": true, "max_tokens": 3}))
	for i, e := range r.Logprobs {
		if v := e.([]any)[1]; v != nil {
			t.Errorf("position %d: %v, want null", i, v)
		}
	}
	if len(r.Logprobs) != 3 {
		t.Errorf("%d entries", len(r.Logprobs))
	}
}

func TestSamplingFields(t *testing.T) {
	_, url := start(t, refserver.Config{})
	text := func(more object) string {
		return ask(t, url+completions, with(plainText, with(object{"temperature": 1, "prompt": "How do I make a paper kite?"}, more))).Text
	}
	if a, b := text(object{"seed": 0}), text(object{"seed": 0}); a != b {
		t.Errorf("seed 0 gave %q and %q", a, b)
	}
	greedy := text(object{"temperature": 0})
	for name, more := range map[string]object{"top_k 1": {"top_k": 1}, "top_p 1e-6": {"top_p": 1e-6}} {
		if got := text(more); got != greedy {
			t.Errorf("%s: %q, want the greedy %q", name, got, greedy)
		}
	}
	// The defaults are vLLM's: temperature 1, 16 tokens; unseeded draws differ.
	seen := map[string]bool{}
	for range 8 {
		r := ask(t, url+completions, object{"prompt": "How do I make a paper kite?", "ignore_eos": true})
		seen[r.Text] = true
		if r.Usage["completion_tokens"] != 16.0 || r.Finish != "length" {
			t.Errorf("without max_tokens: %v %s", r.Usage, r.Finish)
		}
	}
	if len(seen) < 2 {
		t.Errorf("eight unseeded answers are all %q", greedy)
	}
	// Chat runs to the end of the context.
	r := ask(t, url+chat, object{"messages": plainChat["messages"], "ignore_eos": true, "temperature": 0})
	if r.Usage["total_tokens"] != 1024.0 || r.Finish != "length" {
		t.Errorf("without max_tokens: %v %s", r.Usage, r.Finish)
	}
	r = ask(t, url+chat, with(plainChat, object{"max_completion_tokens": 2}))
	if r.Usage["completion_tokens"] != 2.0 {
		t.Errorf("max_completion_tokens 2: %v", r.Usage)
	}
}

// Text, ids, and lists of one are the same prompt; special tokens in a text are
// tokens, and add_special_tokens puts BOS before.
func TestPromptForms(t *testing.T) {
	_, url := start(t, refserver.Config{})
	tokens := func(body object) []int {
		_, data := call(t, "POST", url+"/tokenize", body)
		return decode[struct{ Tokens []int }](t, data).Tokens
	}
	ids := tokens(object{"prompt": plainText["prompt"]})
	for _, p := range []any{plainText["prompt"], ids, []any{plainText["prompt"]}, []any{ids}} {
		r := ask(t, url+completions, with(plainText, object{"prompt": p, "return_token_ids": true}))
		if !slices.Equal(r.Prompt, ids) || r.Text != "\nThe capital of Norway is Oslo." {
			t.Errorf("prompt %v: ids %v, text %q", p, r.Prompt, r.Text)
		}
	}
	r := ask(t, url+completions, with(plainText, object{"add_special_tokens": false, "return_token_ids": true}))
	if !slices.Equal(r.Prompt, ids[1:]) || ids[0] != 1 {
		t.Errorf("without special tokens: %v of %v", r.Prompt, ids)
	}
	talk := ask(t, url+chat, with(plainChat, object{"return_token_ids": true}))
	if got := tokens(object{"messages": plainChat["messages"]}); !slices.Equal(got, talk.Prompt) {
		t.Errorf("/tokenize %v, chat %v", got, talk.Prompt)
	}
	parts := with(plainChat, object{"messages": []object{{"role": "user", "content": []object{{"type": "text", "text": "What is the capital of Norway?"}}}}})
	if got := ask(t, url+chat, parts); got.Text != talk.Text {
		t.Errorf("content in parts: %q, want %q", got.Text, talk.Text)
	}
}

func TestCachedTokensAndSalt(t *testing.T) {
	_, url := start(t, refserver.Config{})
	long := with(plainText, object{"prompt": strings.Repeat("The river runs past the old mill. ", 8), "max_tokens": 4})
	cached := func(more object) float64 {
		r := ask(t, url+completions, with(long, more))
		return r.Usage["prompt_tokens_details"].(map[string]any)["cached_tokens"].(float64)
	}
	if got := cached(nil); got != 0 {
		t.Errorf("cold: %v", got)
	}
	warm := cached(nil)
	if warm == 0 || math.Mod(warm, 16) != 0 {
		t.Errorf("warm: %v cached tokens", warm)
	}
	if got := cached(object{"cache_salt": "x"}); got != 0 {
		t.Errorf("another salt: %v", got)
	}
	if got := cached(object{"cache_salt": "x"}); got != warm {
		t.Errorf("the same salt: %v, want %v", got, warm)
	}
	if got := cached(object{"prompt_logprobs": 0}); got != 0 {
		t.Errorf("with prompt_logprobs: %v", got)
	}
	_, data := call(t, "POST", url+"/reset_prefix_cache", nil)
	if string(data) != `{"success":true}` {
		t.Errorf("reset: %s", data)
	}
	if got := cached(nil); got != 0 {
		t.Errorf("after the reset: %v", got)
	}
}
