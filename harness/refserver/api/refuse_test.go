package api_test

import (
	"strings"
	"testing"

	"touchstone/harness/refserver"
)

type failure struct {
	Error struct {
		Message, Type string
		Param         *string
		Code          int
	}
}

// checkFailure holds a reply against OpenAI's error shape.
func checkFailure(t *testing.T, what string, status int, data []byte, wantStatus int, field string) {
	t.Helper()
	f := decode[failure](t, data)
	if status != wantStatus || f.Error.Code != wantStatus || f.Error.Message == "" || f.Error.Type == "" {
		t.Errorf("%s: status %d, %s; want %d", what, status, data, wantStatus)
	}
	if field != "" && (f.Error.Param == nil || *f.Error.Param != field || !strings.Contains(f.Error.Message, strings.Split(field, ".")[0])) {
		t.Errorf("%s: %s does not name %s", what, data, field)
	}
}

func TestFieldsAreRefusedByName(t *testing.T) {
	_, url := start(t, refserver.Config{})
	long := make([]int, 1024)
	both := map[string][]any{
		"n":                          {2, "1"},
		"best_of":                    {2},
		"echo":                       {true},
		"min_p":                      {0.1},
		"presence_penalty":           {0.5},
		"frequency_penalty":          {-1},
		"repetition_penalty":         {1.1, 0},
		"logit_bias":                 {object{"5": 1}},
		"response_format":            {object{"type": "json_object"}},
		"use_beam_search":            {true},
		"stop_token_ids":             {[]int{5}},
		"include_stop_str_in_output": {true},
		"skip_special_tokens":        {false},
		"structured_outputs":         {object{"choice": []string{"a"}}},
		"truncate_prompt_tokens":     {10},
		"temprature":                 {0.5},
		"temperature":                {-0.1, "0", true},
		"top_p":                      {0, 1.1, "1"},
		"top_k":                      {-2, 1.5},
		"seed":                       {"x", 1.5},
		"max_tokens":                 {0, -1, 1.5, "9", 1024},
		"min_tokens":                 {-1, 41},
		"ignore_eos":                 {1, "true"},
		"stop":                       {"", 5, []any{"a", 5}, []any{""}},
		"stream":                     {"yes"},
		"cache_salt":                 {"", 5},
		"prompt_logprobs":            {-1, 21, true},
		"return_token_ids":           {1},
		"return_tokens_as_token_ids": {"x"},
		"user":                       {5},
	}
	for field, values := range both {
		for _, v := range values {
			for path, base := range map[string]object{completions: plainText, chat: plainChat} {
				status, data := call(t, "POST", url+path, with(base, object{field: v}))
				checkFailure(t, path+" "+field, status, data, 400, field)
			}
		}
	}
	for field, values := range map[string][]any{
		"prompt": {nil, 5, object{}, []int{}, []int{2048}, []int{-1}, []any{1, nil}, []any{1, "a"}, []any{1.5}, []any{"a", "b"}, []any{[]int{1}, []int{2}}, []any{[]any{[]int{1}}}, []any{nil}, long},
		"suffix": {"x"}, "logprobs": {-1, 21, true}, "messages": {[]object{}}, "top_logprobs": {2}, "max_completion_tokens": {5},
	} {
		for _, v := range values {
			body := with(plainText, object{field: v})
			if field == "prompt" {
				delete(body, "max_tokens")
			}
			status, data := call(t, "POST", url+completions, body)
			checkFailure(t, "completions "+field, status, data, 400, field)
		}
	}
	for field, values := range map[string][]any{
		"messages": {nil, []object{}, "x", []object{{"role": "user"}}, []object{{"content": "x"}}, []object{{"role": "user", "content": 5}},
			[]object{{"role": "user", "content": "x", "name": "y"}}, []object{{"role": "user", "content": []object{{"type": "image_url"}}}},
			[]object{{"role": "user", "content": strings.Repeat("word ", 1200)}}},
		"tools": {[]object{{}}}, "top_logprobs": {5, 21}, "logprobs": {5}, "prompt": {"x"}, "add_special_tokens": {true},
		"chat_template": {"x"}, "reasoning_effort": {"low"}, "max_completion_tokens": {0, 1024},
	} {
		for _, v := range values {
			body := with(plainChat, object{field: v})
			if field == "messages" {
				delete(body, "max_tokens")
			}
			status, data := call(t, "POST", url+chat, body)
			want := field
			if field == "max_completion_tokens" {
				want = "max_tokens"
			}
			checkFailure(t, "chat "+field, status, data, 400, want)
		}
	}
	status, data := call(t, "POST", url+chat, with(plainChat, object{"logprobs": true, "top_logprobs": 21}))
	checkFailure(t, "top_logprobs", status, data, 400, "top_logprobs")
}

func TestStreamOptionsAreHeldToStreams(t *testing.T) {
	_, url := start(t, refserver.Config{})
	for field, more := range map[string]object{
		"stream_options":                       {"stream_options": object{"include_usage": true}},
		"stream_options.include_usage":         {"stream": true, "stream_options": object{"include_usage": 1}},
		"stream_options.include_obfuscation":   {"stream": true, "stream_options": object{"include_obfuscation": true}},
		"stream_options.continuous_usage_stat": {"stream": true, "stream_options": object{"continuous_usage_stat": true}},
		"prompt_logprobs":                      {"stream": true, "prompt_logprobs": 0},
	} {
		status, data := call(t, "POST", url+completions, with(plainText, more))
		checkFailure(t, field, status, data, 400, field)
	}
}

// What asks for nothing is taken, null is absent.
func TestNeutralValuesPass(t *testing.T) {
	_, url := start(t, refserver.Config{})
	neutral := object{
		"n": 1, "best_of": 1, "echo": false, "min_p": 0, "presence_penalty": 0, "frequency_penalty": 0.0, "repetition_penalty": 1.0,
		"logit_bias": object{}, "response_format": object{"type": "text"}, "use_beam_search": false, "length_penalty": 1,
		"stop_token_ids": []int{}, "include_stop_str_in_output": false, "skip_special_tokens": true, "spaces_between_special_tokens": true,
		"user": "somebody", "top_k": -1, "top_p": 1, "seed": nil, "stop": nil, "stream": false, "stream_options": nil, "logprobs": nil,
		"min_tokens": 0, "ignore_eos": false, "priority": 0, "structured_outputs": nil, "reasoning_effort": nil, "whatever": nil,
		"max_completion_tokens": nil, "stream_interval": nil, "prompt_logprobs": nil,
	}
	want := "\nThe capital of Norway is Oslo."
	if got := ask(t, url+completions, with(plainText, with(neutral, object{"suffix": ""}))); got.Text != want {
		t.Errorf("completions: %q, want %q", got.Text, want)
	}
	chatOnly := object{"tools": []any{}, "tool_choice": "none", "parallel_tool_calls": true, "add_generation_prompt": true,
		"continue_final_message": false, "chat_template_kwargs": object{}, "logprobs": false, "top_logprobs": 0, "add_special_tokens": false}
	if got := ask(t, url+chat, with(plainChat, with(neutral, chatOnly))); got.Text != want[1:] {
		t.Errorf("chat: %q, want %q", got.Text, want[1:])
	}
	delete(neutral, "model")
	ask(t, url+completions, object{"prompt": "x"}) // everything else has a default
}

func TestOtherRefusals(t *testing.T) {
	_, url := start(t, refserver.Config{})
	for _, c := range []struct {
		what, method, path string
		body               any
		status             int
		field              string
	}{
		{"unknown model", "POST", completions, with(plainText, object{"model": "gpt-4"}), 404, "model"},
		{"unknown model in chat", "POST", chat, with(plainChat, object{"model": "gpt-4"}), 404, "model"},
		{"model of a wrong type", "POST", chat, with(plainChat, object{"model": 4}), 400, "model"},
		{"unknown path", "POST", "/v1/embeddings", object{}, 404, ""},
		{"wrong method", "GET", completions, nil, 405, ""},
		{"wrong method", "POST", "/v1/models", object{}, 405, ""},
		{"no JSON", "POST", completions, "hello", 400, ""},
		{"half JSON", "POST", completions, `{"prompt": "x"`, 400, ""},
		{"two objects", "POST", completions, `{"prompt": "x"} {}`, 400, ""},
		{"a list", "POST", chat, `[1]`, 400, ""},
		{"empty body", "POST", chat, ``, 400, ""},
		{"too large", "POST", completions, `{"prompt": "` + strings.Repeat("x", 17<<20) + `"}`, 413, ""},
		{"tokenize nothing", "POST", "/tokenize", object{}, 400, "prompt"},
		{"tokenize ids", "POST", "/tokenize", object{"prompt": []int{1}}, 400, "prompt"},
		{"detokenize nothing", "POST", "/detokenize", object{}, 400, "tokens"},
		{"detokenize an unknown id", "POST", "/detokenize", object{"tokens": []int{5, 2048}}, 400, "tokens"},
		{"detokenize for another model", "POST", "/detokenize", object{"model": "x", "tokens": []int{5}}, 404, "model"},
	} {
		status, data := call(t, c.method, url+c.path, c.body)
		checkFailure(t, c.what, status, data, c.status, c.field)
	}
}
