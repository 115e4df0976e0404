package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// ok is an exchange that came back with 200 in one read.
func ok(api API, stream bool, raw string) *Exchange {
	e := &Exchange{Status: 200, ContentType: "application/json", Raw: Bytes(raw)}
	e.Request = Request{ID: "t/1", API: api, Stream: stream}
	if stream {
		e.ContentType = "text/event-stream; charset=utf-8"
	}
	e.Timeline.Reads = []Read{{At: time.Second, N: len(raw)}}
	return e
}

// sse puts each object into an event, and [DONE] behind them.
func sse(objects ...string) string {
	return "data: " + strings.Join(append(objects, "[DONE]"), "\n\ndata: ") + "\n\n"
}

// The shapes below are those of correctness.md §2.1 and §2.2 and, for
// llama.cpp, of ENGINES.md §1 ("seen live").
func TestDecodeShapes(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   *Exchange
		want Reply
	}{
		{"vllm chat", ok(Chat, false, `{"id":"c","object":"chat.completion","model":"m","prompt_token_ids":[5,6],"system_fingerprint":"vllm-0.32.0-ab",
			"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning":"think","tool_calls":[]},"finish_reason":"stop","token_ids":[7,8],
			"logprobs":{"content":[{"token":"H","bytes":[72],"logprob":-0.5,"top_logprobs":[{"token":"H","bytes":[72],"logprob":-0.5},{"token":"J","bytes":[74],"logprob":-9999.0}]},
			{"token":"i","bytes":[105],"logprob":null,"top_logprobs":[]}]}}],
			"usage":{"prompt_tokens":2,"completion_tokens":2,"total_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}}`),
			Reply{Text: "Hi", Reasoning: "think", TokenIDs: []int{7, 8}, PromptTokenIDs: []int{5, 6}, FinishReason: "stop", Model: "m", Fingerprint: "vllm-0.32.0-ab", Choices: 1, Done: true,
				Tokens: []Token{
					{ID: ptr(7), Text: "H", Bytes: []byte("H"), Logprob: ptr(-0.5), Top: []Alternative{{Text: "H", Logprob: ptr(-0.5)}, {Text: "J", Censored: true}}},
					{ID: ptr(8), Text: "i", Bytes: []byte("i")}},
				Usage: &Usage{Prompt: 2, Completion: 2, Total: 4, Cached: ptr(0)}}},
		{"vllm completions, legacy arrays", ok(Completions, false, `{"choices":[{"index":0,"text":"ab","finish_reason":"length","stop_reason":null,"prompt_token_ids":[1],"token_ids":[2,3],
			"logprobs":{"text_offset":[0,1],"tokens":["token_id:2","token_id:3"],"token_logprobs":[null,-1.25],"top_logprobs":[null,{"token_id:9":-2,"token_id:3":-1.25}]}}],
			"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`),
			Reply{Text: "ab", TokenIDs: []int{2, 3}, PromptTokenIDs: []int{1}, FinishReason: "length", Choices: 1, Done: true,
				Tokens: []Token{{ID: ptr(2)}, {ID: ptr(3), Logprob: ptr(-1.25), Top: []Alternative{{ID: ptr(3), Logprob: ptr(-1.25)}, {ID: ptr(9), Logprob: ptr(-2.0)}}}},
				Usage:  &Usage{Prompt: 1, Completion: 2, Total: 3}}},
		{"llama.cpp completions, chat-style log-probabilities", ok(Completions, false, `{"choices":[{"text":" x","index":0,"finish_reason":"length",
			"logprobs":{"content":[{"id":216,"token":" x","bytes":[32,120],"logprob":-0.25,"top_logprobs":[{"id":216,"token":" x","bytes":[32,120],"logprob":-0.25},{"id":4,"token":"y","bytes":[121],"logprob":-3.4028234663852886e+38}]}]}}],
			"usage":{"completion_tokens":1,"prompt_tokens":3,"total_tokens":4},"timings":{"cache_n":2,"prompt_n":1}}`),
			Reply{Text: " x", TokenIDs: []int{216}, FinishReason: "length", Choices: 1, Done: true,
				Tokens: []Token{{ID: ptr(216), Text: " x", Bytes: []byte(" x"), Logprob: ptr(-0.25), Top: []Alternative{{ID: ptr(216), Text: " x", Logprob: ptr(-0.25)}, {ID: ptr(4), Text: "y", Censored: true}}}},
				Usage:  &Usage{Prompt: 3, Completion: 1, Total: 4, Cached: ptr(2)}}},
		{"llama.cpp chat stream: null content with the role", ok(Chat, true, sse(
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"model":"/m.gguf"}`,
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":"hm"}}]}`,
			`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"Yes"}}]}`,
			`{"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}`,
			`{"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":9,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":8}}}`)),
			Reply{Text: "Yes", Reasoning: "hm", FinishReason: "stop", Model: "/m.gguf", Choices: 1, Done: true,
				Usage:  &Usage{Prompt: 9, Completion: 2, Total: 11, Cached: ptr(8)},
				Chunks: []Chunk{{At: time.Second, Reasoning: "hm"}, {At: time.Second, Text: "Yes"}}}},
		{"vllm stream: several tokens a chunk, continuous usage", ok(Completions, true, sse(
			`{"choices":[{"index":0,"text":"ab","token_ids":[1,2],"prompt_token_ids":[4],"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
			`{"choices":[{"index":0,"text":"","token_ids":[3],"prompt_token_ids":null,"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":3,"total_tokens":4}}`)),
			Reply{Text: "ab", TokenIDs: []int{1, 2, 3}, PromptTokenIDs: []int{4}, FinishReason: "length", Choices: 1, Done: true,
				Usage: &Usage{Prompt: 1, Completion: 3, Total: 4},
				Chunks: []Chunk{{At: time.Second, Text: "ab", TokenIDs: []int{1, 2}, Usage: &Usage{Prompt: 1, Completion: 2, Total: 3}},
					{At: time.Second, TokenIDs: []int{3}, Usage: &Usage{Prompt: 1, Completion: 3, Total: 4}}}}},
		{"both names of the reasoning are one text", ok(Chat, false, `{"choices":[{"index":0,"message":{"content":"x","reasoning":"r","reasoning_content":"r"},"finish_reason":"stop"}]}`),
			Reply{Text: "x", Reasoning: "r", FinishReason: "stop", Choices: 1, Done: true}},
		{"Python's NaN", ok(Completions, false, `{"choices":[{"index":0,"text":"NaN","finish_reason":"length","logprobs":{"tokens":["NaN","b"],"token_logprobs":[NaN,-Infinity]}}]}`),
			Reply{Text: "NaN", FinishReason: "length", Choices: 1, Done: true, Tokens: []Token{{Text: "NaN"}, {Text: "b", Censored: true}}}},
		{"usage without a count is no usage", ok(Completions, false, `{"choices":[{"index":0,"text":"a","finish_reason":"length"}],"usage":{"total_tokens":3}}`),
			Reply{Text: "a", FinishReason: "length", Choices: 1, Done: true}},
		{"two choices: text of the first, both counted", ok(Completions, true, sse(
			`{"choices":[{"index":1,"text":"B","finish_reason":"stop"}]}`, `{"choices":[{"index":0,"text":"A","finish_reason":"length"}]}`)),
			Reply{Text: "A", FinishReason: "length", Choices: 2, Done: true, Chunks: []Chunk{{At: time.Second, Text: "A"}}}},
		{"an id lost in the middle is not mended from log-probabilities", ok(Completions, true, sse(
			`{"choices":[{"index":0,"text":"a","token_ids":[1]}]}`,
			`{"choices":[{"index":0,"text":"b","finish_reason":"length","logprobs":{"tokens":["token_id:2"],"token_logprobs":[-1]}}]}`)),
			Reply{Text: "ab", TokenIDs: []int{1}, FinishReason: "length", Choices: 1, Done: true, Tokens: []Token{{ID: ptr(2), Logprob: ptr(-1.0)}},
				Chunks: []Chunk{{At: time.Second, Text: "a", TokenIDs: []int{1}}, {At: time.Second, Text: "b"}}}},
		{"tokenize, vllm", ok(Tokenize, false, `{"count":2,"max_model_len":2048,"tokens":[1,2],"token_strs":null}`),
			Reply{Done: true, Count: ptr(2), TokenList: []int{1, 2}}},
		{"tokenize, llama.cpp with pieces", ok(Tokenize, false, `{"tokens":[{"id":3,"piece":"a"}]}`),
			Reply{Done: true, Count: ptr(1), TokenList: []int{3}}},
		{"tokenize of nothing", ok(Tokenize, false, `{"count":0,"tokens":[]}`),
			Reply{Done: true, Count: ptr(0), TokenList: []int{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, f := Decode(tc.in)
			if f != nil {
				t.Fatalf("failure %v", f)
			}
			if d := cmp.Diff(&tc.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestDecodePromptLogprobs(t *testing.T) {
	// The prompt's own token, 30, is the least likely one of the three: by rank
	// or by value alone it could not be told from the others.
	const list = `[null,{"30":{"logprob":-4,"rank":7,"decoded_token":"c"},"20":{"logprob":-1,"rank":1,"decoded_token":"b"},"10":{"logprob":-9999.0,"rank":2,"decoded_token":"a"}}]`
	top := []Alternative{{ID: ptr(20), Text: "b", Logprob: ptr(-1.0)}, {ID: ptr(30), Text: "c", Logprob: ptr(-4.0)}, {ID: ptr(10), Text: "a", Censored: true}}
	chat := ok(Chat, false, `{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}],"prompt_token_ids":[5,20],"prompt_logprobs":`+list+`}`)
	completion := ok(Completions, false, `{"choices":[{"index":0,"text":"x","finish_reason":"stop","prompt_logprobs":`+list+`}]}`)
	sent := ok(Completions, false, string(completion.Raw))
	sent.Request.PromptIDs = []int{5, 10}
	for _, tc := range []struct {
		name string
		in   *Exchange
		want []Position
	}{
		{"by prompt_token_ids, at the top", chat, []Position{{ID: 5}, {ID: 20, Logprob: ptr(-1.0), Top: top}}},
		{"by order, in the choice", completion, []Position{{ID: -1}, {ID: 30, Logprob: ptr(-4.0), Top: top}}},
		{"by the ids that were sent", sent, []Position{{ID: 5}, {ID: 10, Censored: true, Top: top}}},
	} {
		got, f := Decode(tc.in)
		if f != nil {
			t.Fatalf("%s: %v", tc.name, f)
		}
		if d := cmp.Diff(tc.want, got.Prompt); d != "" {
			t.Errorf("%s (-want +got)\n%s", tc.name, d)
		}
	}
}

func TestDecodeFailures(t *testing.T) {
	const chunk = `{"choices":[{"index":0,"text":"ab","finish_reason":null}]}`
	const last = `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`
	status := func(code int, raw string) *Exchange {
		e := ok(Chat, false, raw)
		e.Status = code
		return e
	}
	html := ok(Chat, false, `<!doctype html><title>nginx</title>`)
	typed := ok(Chat, true, `Bad gateway`)
	typed.ContentType = "text/html"
	for _, tc := range []struct {
		name   string
		in     *Exchange
		class  Class
		detail string // a part of it
		text   string // what is decoded all the same
	}{
		{"no status", &Exchange{Raw: Bytes(chunk)}, Malformed, "no HTTP status", ""},
		{"429", status(429, `{"error":{"message":"slow down","type":"rate"}}`), HTTPStatus, "HTTP 429: slow down", ""},
		{"422 of FastAPI", status(422, `{"detail":[{"msg":"extra fields not permitted"}]}`), HTTPStatus, "extra fields", ""},
		{"502 with HTML", status(502, `<html>Bad Gateway</html>`), HTTPStatus, "HTML", ""},
		{"500 with nothing", status(500, ``), HTTPStatus, "empty body", ""},
		{"redirect", status(307, ``), HTTPStatus, "HTTP 307", ""},
		{"HTML under 200", html, Malformed, "HTML", ""},
		{"HTML by type", typed, Malformed, "HTML", ""},
		{"error object under 200", ok(Chat, false, `{"error":{"message":"no GPU","code":500}}`), Malformed, "no GPU", ""},
		{"vllm's error object under 200", ok(Chat, false, `{"object":"error","message":"too long","type":"BadRequest","code":400}`), Malformed, "too long", ""},
		{"error text under 200", ok(Chat, false, `{"error":"overloaded"}`), Malformed, "overloaded", ""},
		{"FastAPI's under 200", ok(Chat, false, `{"detail":"Not Found"}`), Malformed, "Not Found", ""},
		{"no choices", ok(Chat, false, `{"id":"x","choices":[]}`), Malformed, "no choices", ""},
		{"empty body", ok(Chat, false, ``), Malformed, "empty", ""},
		{"cut JSON", ok(Chat, false, `{"choices":[{"index":0,"message":{"content":"ab`), Truncated, "middle of JSON", ""},
		{"a wrong last byte", ok(Completions, false, `{"choices":[{"index":0,"text":"ab","finish_reason":"stop"}]}{`), Malformed, "after top-level value", ""},
		{"no JSON", ok(Chat, false, `hello`), Malformed, "invalid character", ""},
		{"wrong type keeps the rest", ok(Completions, false, `{"model":3,"choices":[{"index":0,"text":"ab","finish_reason":"stop"}]}`), Malformed, "model", "ab"},
		{"legacy arrays of two lengths", ok(Completions, false, `{"choices":[{"index":0,"text":"ab","finish_reason":"stop","logprobs":{"tokens":["a","b"],"token_logprobs":[-1]}}]}`), Malformed, "2 tokens, 1 token_logprobs", "ab"},
		{"no choice 0", ok(Completions, false, `{"choices":[{"index":1,"text":"ab","finish_reason":"stop"}]}`), Malformed, "index 0", ""},
		{"stream without [DONE]", ok(Completions, true, "data: "+chunk+"\n\ndata: "+last+"\n\n"), Truncated, "without [DONE]", "ab"},
		{"stream without finish_reason", ok(Completions, true, sse(chunk)), Truncated, "finish_reason", "ab"},
		{"stream cut in a line", ok(Completions, true, "data: "+chunk+"\n\ndata: "+chunk[:30]), Truncated, "middle of JSON", "ab"},
		{"stream of nothing", ok(Completions, true, ""), Malformed, "no event", ""},
		{"only [DONE]", ok(Completions, true, sse()), Malformed, "no choices", ""},
		{"stream of pings", ok(Completions, true, ": ping\n\n: ping\n\n"), Malformed, "no event", ""},
		{"broken JSON in the middle", ok(Completions, true, sse(chunk, `{"choices":[`, last)), Malformed, "unexpected end", "ab"},
		{"error in the stream", ok(Completions, true, "data: "+chunk+"\n\ndata: {\"error\":{\"message\":\"CUDA error\"}}\n\n"), Malformed, "CUDA error", "ab"},
		{"error in the stream, spaced", ok(Completions, true, sse(chunk, `{ "error": {"message":"CUDA error"}}`)), Malformed, "CUDA error", "ab"},
		{"error in the stream, vllm's old shape", ok(Completions, true, sse(chunk, `{"object": "error", "message": "CUDA error"}`)), Malformed, "CUDA error", "ab"},
		{"error event", ok(Completions, true, "data: "+chunk+"\n\nevent: error\ndata: {\"message\":\"CUDA error\"}\n\n"), Malformed, "CUDA error", "ab"},
		{"error field of old llama-servers", ok(Completions, true, "data: "+chunk+"\n\nerror: {\"message\":\"CUDA error\"}\n\n"), Malformed, "CUDA error", "ab"},
		{"bare error line", ok(Completions, true, "data: "+chunk+"\n\n{\"error\":\"CUDA error\"}\n"), Malformed, "CUDA error", "ab"},
		{"HTML in the stream", ok(Completions, true, "data: "+chunk+"\n\n<html>504</html>\n"), Malformed, "invalid character '<'", "ab"},
		{"data after [DONE]", ok(Completions, true, sse(chunk, last)+"data: "+chunk+"\n\n"), Malformed, "after [DONE]", "ab"},
		{"object instead of a stream", ok(Completions, true, `{"choices":[{"index":0,"text":"ab","finish_reason":"stop"}]}`), Malformed, "asked for a stream", "ab"},
		{"stream instead of an object", ok(Completions, false, sse(chunk, last)), Malformed, "got a stream", "ab"},
		{"tokenize without tokens", ok(Tokenize, false, `{}`), Malformed, "neither count nor tokens", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, f := Decode(tc.in)
			if f == nil {
				t.Fatalf("no failure, want %s", tc.class)
			}
			if f.Class != tc.class || !strings.Contains(f.Detail, tc.detail) {
				t.Errorf("failure %v, want %s with %q", f, tc.class, tc.detail)
			}
			if got.Text != tc.text {
				t.Errorf("text %q, want %q", got.Text, tc.text)
			}
			if c := Check(tc.in); c == nil && !strings.Contains(tc.name, "in the middle") {
				t.Error("Check found nothing")
			}
		})
	}
}

func TestRecordedFailureGoesFirst(t *testing.T) {
	e := ok(Completions, true, "data: {\"choices\":[{\"index\":0,\"text\":\"ab\"}]}\n\n")
	e.Failure = &Failure{Class: TimeoutStall, Detail: "silence"}
	got, f := Decode(e)
	if f != e.Failure || got.Text != "ab" {
		t.Errorf("got %q, %v; want ab and the stall", got.Text, f)
	}
}

// The same stream in every dress that the standard allows.
func TestDecodeSSEDress(t *testing.T) {
	plain := sse(`{"choices":[{"index":0,"text":"a"}]}`, `{"choices":[{"index":0,"text":"é","finish_reason":"stop"}]}`)
	want, f := Decode(ok(Completions, true, plain))
	if f != nil {
		t.Fatal(f)
	}
	for name, raw := range map[string]string{
		"CRLF":                  strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":                    strings.ReplaceAll(plain, "\n", "\r"),
		"BOM":                   "\ufeff" + plain,
		"no space":              strings.ReplaceAll(plain, "data: ", "data:"),
		"comments":              ": hello\n\n" + strings.ReplaceAll(plain, "\n\n", "\n\n: ping\n\n"),
		"ids and retry":         "retry: 5\n" + strings.ReplaceAll(plain, "data: {", "id: 1\nevent: message\ndata: {"),
		"data in several lines": strings.ReplaceAll(plain, `[{"index"`, "[\ndata: {\"index\""),
		"no blank lines":        strings.ReplaceAll(plain, "\n\n", "\n"),
		"no newline at the end": strings.TrimRight(plain, "\n"),
		"ping events":           "event: ping\ndata: {}\n\n" + plain,
		"empty data":            "data:\n\n" + plain,
	} {
		got, f := Decode(ok(Completions, true, raw))
		if f != nil {
			t.Errorf("%s: %v", name, f)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-plain +dressed)\n%s", name, d)
		}
	}
}

func TestChunkTimes(t *testing.T) {
	raw := sse(`{"choices":[{"index":0,"text":"a"}]}`, `{"choices":[{"index":0,"text":"b"}]}`, `{"choices":[{"index":0,"text":"c","finish_reason":"stop"}]}`)
	e := ok(Completions, true, raw)
	// The first read ends one byte before event b is whole, the second brings
	// that byte and all of c.
	bEnd := strings.Index(raw, `"b"}]}`) + len(`"b"}]}`)
	e.Timeline.Reads = []Read{{At: 1 * time.Millisecond, N: bEnd - 1}, {At: 5 * time.Millisecond, N: len(raw) - bEnd + 1}}
	r, f := Decode(e)
	if f != nil {
		t.Fatal(f)
	}
	var got []time.Duration
	for _, c := range r.Chunks {
		got = append(got, c.At)
	}
	want := []time.Duration{1 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// A read that ends with the data, before the newline, has brought it.
	e.Timeline.Reads = []Read{{At: 1 * time.Millisecond, N: bEnd}, {At: 5 * time.Millisecond, N: len(raw) - bEnd}}
	if r, _ := Decode(e); r.Chunks[1].At != time.Millisecond {
		t.Errorf("chunk b at %s, want 1ms", r.Chunks[1].At)
	}
	e.Timeline.Reads, e.Timeline.End = nil, 9*time.Millisecond
	if r, _ := Decode(e); r.Chunks[0].At != e.Timeline.End {
		t.Errorf("without reads: %v, want the end", r.Chunks[0].At)
	}
}

// Wherever the reads were split, the reply is the same but for its times, and
// those never go back.
func TestSplitReads(t *testing.T) {
	raw := "\ufeff" + sse(`{"choices":[{"index":0,"text":"aé"}]}`, `{"choices":[{"index":0,"text":"b","finish_reason":"stop"}]}`)
	whole, f := Decode(ok(Completions, true, raw))
	if f != nil {
		t.Fatal(f)
	}
	for i := 0; i <= len(raw); i++ {
		e := ok(Completions, true, raw)
		e.Timeline.Reads = []Read{{At: 1, N: i}, {At: 2, N: len(raw) - i}}
		got, f := Decode(e)
		if f != nil {
			t.Fatalf("split at %d: %v", i, f)
		}
		if got.Chunks[0].At > got.Chunks[1].At {
			t.Errorf("split at %d: times go back", i)
		}
		for j := range got.Chunks {
			got.Chunks[j].At = time.Second
		}
		if d := cmp.Diff(whole, got); d != "" {
			t.Fatalf("split at %d\n%s", i, d)
		}
	}
}

// Check takes the short way only for streams that Decode finds whole.
func TestCheckAgrees(t *testing.T) {
	whole := ok(Completions, true, sse(`{"choices":[{"index":0,"text":"a","finish_reason":"stop"}]}`))
	if !looksWhole(whole.Raw) {
		t.Error("a plain stream doesn't take the short way")
	}
	if f := Check(whole); f != nil {
		t.Error(f)
	}
}

func BenchmarkDecode(b *testing.B) {
	var objects []string
	for i := range 128 {
		fin := "null"
		if i == 127 {
			fin = `"length"`
		}
		objects = append(objects, fmt.Sprintf(`{"id":"cmpl-1234567890abcdef","object":"text_completion","created":1700000000,"model":"m","choices":[{"index":0,"text":" tok%d","logprobs":null,"finish_reason":%s,"stop_reason":null}],"usage":null}`, i, fin))
	}
	e := ok(Completions, true, sse(objects...))
	for _, bc := range []struct {
		name string
		f    func() *Failure
	}{
		{"decode", func() *Failure { _, f := Decode(e); return f }},
		{"check", func() *Failure { return Check(e) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for b.Loop() {
				if f := bc.f(); f != nil {
					b.Fatal(f)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/128/1000, "µs/token")
		})
	}
}
