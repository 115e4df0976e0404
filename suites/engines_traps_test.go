//go:build engines

package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"touchstone/harness/client"
	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/parity"
)

// The traps of go-openai that harness/client shows on servers made for it
// (trap_test.go), here on real ones, as far as those walk into them: go-openai
// as it comes, beside this project's client. What an engine does is asserted
// even where it is odd, so that a new version that behaves otherwise is seen.

const (
	// draws is how often a request is sent where its answers are counted. The
	// number of distinct answers is itself a draw, so only "more than one" is
	// asked for: see widestTie.
	draws = 48
	// widestTie is the largest margin of a near-tie, in nats. A temperature of
	// 0.01 makes e^-1 of the odds: the second token has 27 %, and 48 draws are
	// all the same once in some 3,000,000 runs.
	widestTie = 0.01
	// closestTie is the smallest: ten times what float32 moves it by, so that
	// a greedy answer is always the same.
	closestTie = 1e-4

	openChat   = "Tell me something about the sea." // many good first tokens
	shortChat  = "What is the capital of Norway?"   // an answer of 13 tokens
	openPrompt = "Tell me a story."
)

// both are two ways to ask one server.
type both struct {
	plain *openai.Client // go-openai as it comes
	ours  *client.Client
}

func bothOf(t *testing.T, url string) both {
	t.Helper()
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = url + "/v1"
	// llama-server closes a connection after a stream without announcing it.
	cfg.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ours, err := client.New(client.Options{BaseURL: url, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ours.CloseIdle)
	return both{openai.NewClientWithConfig(cfg), ours}
}

// request asks for few tokens, greedily, unless params say otherwise.
func request(api exchange.API, text string, params map[string]any) exchange.Request {
	r := exchange.Request{ID: "traps/1", Probe: "traps", API: api, Params: map[string]any{"temperature": 0, "max_tokens": 4}}
	maps.Copy(r.Params, params)
	if api == exchange.Chat {
		r.Messages = []exchange.Message{{Role: "user", Content: text}}
	} else {
		r.Prompt = text
	}
	return r
}

// do sends a request by our client.
func (b both) do(t *testing.T, r exchange.Request) (*exchange.Exchange, *exchange.Reply) {
	t.Helper()
	x := b.ours.Do(t.Context(), r)
	reply, failure := exchange.Decode(x)
	if failure != nil {
		t.Fatalf("%s: %v", x.Sent, failure)
	}
	return x, reply
}

func (b both) chat(t *testing.T, text string, params map[string]any) *exchange.Reply {
	t.Helper()
	_, r := b.do(t, request(exchange.Chat, text, params))
	return r
}

func (b both) complete(t *testing.T, text string, params map[string]any) *exchange.Reply {
	t.Helper()
	_, r := b.do(t, request(exchange.Completions, text, params))
	return r
}

// refuses wants HTTP 400 with a word in it, to our request.
func (b both) refuses(t *testing.T, r exchange.Request, word string) {
	t.Helper()
	if x := b.ours.Do(t.Context(), r); x.Status != http.StatusBadRequest || x.Failure == nil || !strings.Contains(x.Failure.Detail, word) {
		t.Errorf("%s: HTTP %d, %v; want 400 with %q", x.Sent, x.Status, x.Failure, word)
	}
}

func plainChat(text string, tokens int, temperature float32) openai.ChatCompletionRequest {
	//lint:ignore SA1019 every engine knows max_tokens, and which of the two counts is tested
	return openai.ChatCompletionRequest{Model: "m", MaxTokens: tokens, Temperature: temperature,
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: text}}}
}

func (b both) plainChat(t *testing.T, q openai.ChatCompletionRequest) openai.ChatCompletionResponse {
	t.Helper()
	r, err := b.plain.CreateChatCompletion(t.Context(), q)
	if err != nil || len(r.Choices) == 0 {
		t.Fatalf("go-openai: %v, %d choices", err, len(r.Choices))
	}
	return r
}

func (b both) plainComplete(t *testing.T, q openai.CompletionRequest) openai.CompletionResponse {
	t.Helper()
	r, err := b.plain.CreateCompletion(t.Context(), q)
	if err != nil || len(r.Choices) == 0 {
		t.Fatalf("go-openai: %v, %d choices", err, len(r.Choices))
	}
	return r
}

// plainStream reads a chat stream to its end.
func (b both) plainStream(t *testing.T, q openai.ChatCompletionRequest) []openai.ChatCompletionStreamResponse {
	t.Helper()
	s, err := b.plain.CreateChatCompletionStream(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	var chunks []openai.ChatCompletionStreamResponse
	for {
		c, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return chunks
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
}

// refusedUnsent wants an error of go-openai's own: nothing was sent.
func refusedUnsent(t *testing.T, what string, err error) {
	t.Helper()
	var status *openai.APIError
	var transport *openai.RequestError
	if err == nil || errors.As(err, &status) || errors.As(err, &transport) {
		t.Errorf("go-openai sends %s: %v", what, err)
	}
}

// crowd asks all at once and counts each answer.
func crowd(t *testing.T, ask func(context.Context) (string, error)) map[string]int {
	t.Helper()
	texts, errs := make([]string, draws), make([]error, draws)
	var all sync.WaitGroup
	for i := range draws {
		all.Go(func() { texts[i], errs[i] = ask(t.Context()) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return count(texts)
}

func count(texts []string) map[string]int {
	n := map[string]int{}
	for _, s := range texts {
		n[s]++
	}
	return n
}

// inTurn asks by our client, one by one, and counts each answer.
func (b both) inTurn(t *testing.T, r exchange.Request) map[string]int {
	t.Helper()
	var texts []string
	for range draws {
		x, reply := b.do(t, r)
		if !strings.Contains(string(x.Sent), `"temperature":0,`) && !strings.Contains(string(x.Sent), `"temperature":0}`) {
			t.Fatalf("sent %s: want a temperature of 0", x.Sent)
		}
		texts = append(texts, reply.Text)
	}
	return count(texts)
}

// delta is the first event of a stream of chat: whether its content is null.
func delta(t *testing.T, x *exchange.Exchange) (role string, content *string) {
	t.Helper()
	line, _, _ := strings.Cut(string(x.Raw), "\n")
	var o struct {
		Choices []struct {
			Delta struct {
				Role    string
				Content *string
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &o); err != nil || len(o.Choices) != 1 {
		t.Fatalf("the first line is no chunk with a choice (%v): %s", err, line)
	}
	return o.Choices[0].Delta.Role, o.Choices[0].Delta.Content
}

// streamed holds what both engines do with streams of chat: usage only for who
// asks, in a last chunk without choices; the role alone in the first chunk.
func (b both) streamed(t *testing.T, contentIsNull bool) {
	t.Helper()
	q := plainChat(openChat, 4, 0)
	silent := b.plainStream(t, q)
	if slices.ContainsFunc(silent, func(c openai.ChatCompletionStreamResponse) bool { return c.Usage != nil }) {
		t.Error("usage came unasked")
	}
	q.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	told := b.plainStream(t, q)
	if last := told[len(told)-1]; last.Usage == nil || last.Usage.CompletionTokens != 4 || len(last.Choices) != 0 {
		t.Errorf("the last chunk is %+v, want usage with 4 tokens and no choices", last)
	}
	if d := told[0].Choices[0].Delta; d.Role != "assistant" || d.Content != "" {
		t.Errorf("go-openai shows %+v, want the role alone", d)
	}
	r := request(exchange.Chat, openChat, map[string]any{"stream_options": map[string]any{"include_usage": true}})
	r.Stream = true
	x, reply := b.do(t, r)
	if role, content := delta(t, x); role != "assistant" || (content == nil) != contentIsNull || content != nil && *content != "" {
		t.Errorf("the first delta has role %q and content %v, want null: %v", role, content, contentIsNull)
	}
	// The chunk with the role is no token, and nor is one with the end alone.
	if n := len(reply.Chunks); n == 0 || n > 4 || reply.Usage == nil || reply.Usage.Completion != 4 || !reply.Done ||
		slices.ContainsFunc(reply.Chunks, func(c exchange.Chunk) bool { return c.Text == "" }) {
		t.Errorf("ours: %+v, usage %+v, done %v; want 1 to 4 chunks with text", reply.Chunks, reply.Usage, reply.Done)
	}
}

// found holds what the engine package makes of a server.
func (b both) found(t *testing.T, want exchange.Target, present, absent []exchange.Capability) {
	t.Helper()
	got, err := engine.Find(t.Context(), b.ours, "", engine.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s, fingerprint %s", got.Engine, got.Version, got.Fingerprint)
	if got.Engine != want.Engine || got.Model != want.Model || got.TokenizeField != want.TokenizeField || got.MaxModelLen != want.MaxModelLen {
		t.Errorf("found %q, model %q, /tokenize with %q, length %d; want %+v", got.Engine, got.Model, got.TokenizeField, got.MaxModelLen, want)
	}
	if !strings.HasPrefix(got.Fingerprint, want.Fingerprint) || !strings.HasPrefix(got.Version, want.Version) {
		t.Errorf("version %q, fingerprint %q; want them to begin with %q, %q", got.Version, got.Fingerprint, want.Version, want.Fingerprint)
	}
	for _, c := range present {
		if got.Capabilities[c] != exchange.Present {
			t.Errorf("%s: %v, want present", c, got.Capabilities[c])
		}
	}
	for _, c := range absent {
		if got.Capabilities[c] != exchange.Absent {
			t.Errorf("%s: %v, want absent", c, got.Capabilities[c])
		}
	}
}

// tokenPrompt: go-openai refuses token ids; the server sees just those.
func (b both) tokenPrompt(t *testing.T) {
	t.Helper()
	ids := []int{1, 297, 672}
	_, err := b.plain.CreateCompletion(t.Context(), openai.CompletionRequest{Model: "m", Prompt: ids, MaxTokens: 1})
	refusedUnsent(t, "a prompt of token ids", err)
	r := request(exchange.Completions, "", nil)
	r.PromptIDs = ids
	if _, reply := b.do(t, r); reply.Usage == nil || reply.Usage.Prompt != len(ids) {
		t.Errorf("usage %+v, want a prompt of %d tokens", reply.Usage, len(ids))
	}
}

// lengths: which of two limits counts.
func (b both) lengths(t *testing.T) {
	t.Helper()
	for name, params := range map[string]map[string]any{
		"the smaller":          {"max_completion_tokens": 2, "max_tokens": 5},
		"the larger":           {"max_completion_tokens": 5, "max_tokens": 2},
		"max_completion alone": {"max_completion_tokens": 3},
	} {
		r := request(exchange.Chat, openChat, nil)
		delete(r.Params, "max_tokens")
		maps.Copy(r.Params, params)
		most, _ := params["max_tokens"].(int)
		q := plainChat(openChat, most, 0)
		q.MaxCompletionTokens = params["max_completion_tokens"].(int)
		_, ours := b.do(t, r)
		if p := b.plainChat(t, q); p.Usage.CompletionTokens != q.MaxCompletionTokens || ours.Usage.Completion != q.MaxCompletionTokens {
			t.Errorf("%s: go-openai gets %d tokens, ours %d; want max_completion_tokens to count, %d", name, p.Usage.CompletionTokens, ours.Usage.Completion, q.MaxCompletionTokens)
		}
	}
}

func TestVLLMTraps(t *testing.T) {
	b := bothOf(t, start(t, vllm("vLLM", "tiny"), variant{}))
	t.Run("temperature", func(t *testing.T) { vllmTemperature(t, b) })
	t.Run("log-probabilities", func(t *testing.T) { vllmLogprobs(t, b) })
	t.Run("candidates of one text", func(t *testing.T) { vllmSameText(t, b) })
	t.Run("lengths", func(t *testing.T) { vllmLengths(t, b) })
	t.Run("token ids as a prompt", b.tokenPrompt)
	t.Run("chat stream", func(t *testing.T) { b.streamed(t, false) })
	t.Run("fields of vLLM", func(t *testing.T) { vllmFields(t, b) })
	t.Run("structured outputs", func(t *testing.T) { vllmStructured(t, b) })
	t.Run("empty message", func(t *testing.T) {
		// vLLM takes a missing content for an empty one: no trap there.
		if p, ours := b.plainChat(t, plainChat("", 1, 0)), b.chat(t, "", nil); p.Usage.PromptTokens != ours.Usage.Prompt {
			t.Errorf("go-openai's prompt has %d tokens, ours %d", p.Usage.PromptTokens, ours.Usage.Prompt)
		}
	})
	t.Run("model names", func(t *testing.T) {
		r := b.ours
		r.SetModel("another")
		defer r.SetModel("m")
		if x := r.Do(t.Context(), request(exchange.Chat, openChat, nil)); x.Status != http.StatusNotFound {
			t.Errorf("HTTP %d for a model that isn't served, want 404", x.Status)
		}
	})
	t.Run("what is found", func(t *testing.T) {
		b.found(t, exchange.Target{Engine: "vllm", Model: "m", Version: "0.32.0", Fingerprint: "vllm-0.32.0-", TokenizeField: "prompt", MaxModelLen: 1024},
			[]exchange.Capability{exchange.CapChat, exchange.CapCompletions, exchange.CapTokenIDs, exchange.CapPromptIDs, exchange.CapLogprobs,
				exchange.CapTokenPrompt, exchange.CapTokenize, exchange.CapStream, exchange.CapStreamUsage, exchange.CapIgnoreEOS},
			[]exchange.Capability{exchange.CapCachedTokens}) // unless started with --enable-prompt-tokens-details
	})
}

// tie is a prompt after which two tokens are almost as likely.
type tie struct {
	prompt string
	gap    float64 // nats
	first  string  // the likelier one
}

// nearTie finds one: each place of some sampled texts is a candidate, and its
// margin is asked for again as a prompt, since text may tokenise otherwise.
func nearTie(t *testing.T, b both) tie {
	t.Helper()
	margin := func(top []exchange.Alternative) (gap float64, ok bool) {
		if len(top) < 2 || top[0].Logprob == nil || top[1].Logprob == nil || top[0].Text == top[1].Text {
			return 0, false
		}
		gap = *top[0].Logprob - *top[1].Logprob
		return gap, gap >= closestTie && gap <= widestTie
	}
	var candidates []tie
	for seed := range 12 {
		text := openPrompt
		sampled := b.complete(t, text, map[string]any{"temperature": 1, "seed": seed, "max_tokens": 160, "logprobs": 2})
		for _, tok := range sampled.Tokens {
			if gap, ok := margin(tok.Top); ok {
				candidates = append(candidates, tie{prompt: text, gap: gap})
			}
			text += tok.Text
		}
	}
	slices.SortFunc(candidates, func(x, y tie) int { return int(math.Copysign(1, x.gap-y.gap)) })
	for _, c := range candidates {
		r := b.complete(t, c.prompt, map[string]any{"max_tokens": 1, "logprobs": 2})
		if gap, ok := margin(r.Tokens[0].Top); ok {
			t.Logf("a near-tie of %.5f nats, %q or %q, after …%q", gap, r.Tokens[0].Top[0].Text, r.Tokens[0].Top[1].Text, c.prompt[max(0, len(c.prompt)-40):])
			return tie{c.prompt, gap, r.Tokens[0].Top[0].Text}
		}
	}
	t.Fatalf("none of %d places has a margin of %v to %v nats: sample more", len(candidates), closestTie, widestTie)
	return tie{}
}

// vllmTemperature: traps 1 and 2. vLLM raises 0 < T < 0.01 to 0.01
// (sampling_params.py, _MAX_TEMP), and an absent T is 1.
func vllmTemperature(t *testing.T, b both) {
	tie := nearTie(t, b)
	for _, tc := range []struct {
		name        string
		temperature float32
	}{
		{"0, which it drops", 0},
		{"math.SmallestNonzeroFloat32", math.SmallestNonzeroFloat32},
		{"0.01", 0.01},
	} {
		q := openai.CompletionRequest{Model: "m", Prompt: tie.prompt, MaxTokens: 1, Temperature: tc.temperature}
		got := crowd(t, func(ctx context.Context) (string, error) { return firstText(b.plain.CreateCompletion(ctx, q)) })
		t.Logf("go-openai, %s: %d distinct of %d: %v", tc.name, len(got), draws, got)
		if len(got) < 2 {
			t.Errorf("go-openai, %s: always %v: it is greedy now, correct %s", tc.name, got, enginesDoc)
		}
	}
	ours := b.inTurn(t, request(exchange.Completions, tie.prompt, map[string]any{"max_tokens": 1}))
	t.Logf("ours, 0: %d distinct of %d: %v", len(ours), draws, ours)
	if !reflect.DeepEqual(ours, map[string]int{tie.first: draws}) {
		t.Errorf("ours: %v, want %q each time", ours, tie.first)
	}
}

func firstText(r openai.CompletionResponse, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case len(r.Choices) == 0:
		return "", errors.New("no choices")
	}
	return r.Choices[0].Text, nil
}

// vllmLogprobs: trap 3, and what goes with which.
func vllmLogprobs(t *testing.T, b both) {
	plain := b.plainComplete(t, openai.CompletionRequest{Model: "m", Prompt: openPrompt, MaxTokens: 4, LogProbs: 0})
	if n := len(plain.Choices[0].LogProbs.Tokens); n != 0 {
		t.Errorf("go-openai's LogProbs: 0 brings %d log-probabilities: it is sent now", n)
	}
	// 0 alternatives: the token's own value alone.
	own := b.complete(t, openPrompt, map[string]any{"logprobs": 0}).Tokens
	if len(own) != 4 || slices.ContainsFunc(own, func(tok exchange.Token) bool { return tok.Logprob == nil || len(tok.Top) != 1 }) {
		t.Errorf("logprobs 0: %+v, want 4, each alone", own)
	}
	q := plainChat(openChat, 4, 0)
	q.TopLogProbs = 2
	var status *openai.APIError
	if _, err := b.plain.CreateChatCompletion(t.Context(), q); !errors.As(err, &status) || status.HTTPStatusCode != http.StatusBadRequest {
		t.Errorf("go-openai's TopLogProbs alone: %v, want HTTP 400", err)
	}
	b.refuses(t, request(exchange.Chat, openChat, map[string]any{"top_logprobs": 2}), "logprobs")
	q.LogProbs, q.TopLogProbs = true, 0
	if l := b.plainChat(t, q).Choices[0].LogProbs; l == nil || len(l.Content) != 4 || len(l.Content[0].TopLogProbs) != 0 {
		t.Errorf("go-openai's LogProbs alone: %+v, want 4 without alternatives", l)
	}
	for k := range 3 {
		tokens := b.chat(t, openChat, map[string]any{"logprobs": true, "top_logprobs": k}).Tokens
		if len(tokens) != 4 || tokens[0].Logprob == nil || len(tokens[0].Top) != k {
			t.Errorf("top_logprobs %d: %+v", k, tokens)
		}
	}
}

// fragments is a prompt that ends where the model writes characters of several
// tokens: what single bytes stand for is one text, U+FFFD.
const fragments = "👋👋👋👋👋👋👋👋"

// vllmSameText: trap 16. Candidates that have one text are one entry of the
// map, whoever reads it; by their ids they stay apart.
func vllmSameText(t *testing.T, b both) {
	const most = 20
	lost := 0
	plain := b.plainComplete(t, openai.CompletionRequest{Model: "m", Prompt: fragments, MaxTokens: 8, LogProbs: most, Temperature: 1})
	for _, top := range plain.Choices[0].LogProbs.TopLogprobs {
		lost += max(0, most-len(top))
	}
	if lost == 0 {
		t.Error("go-openai lists all candidates: choose a prompt with more fragments of characters")
	}
	ours := b.complete(t, fragments, map[string]any{"max_tokens": 8, "logprobs": most, "return_tokens_as_token_ids": true}).Tokens
	if len(ours) != 8 {
		t.Errorf("ours: %d tokens, want 8", len(ours))
	}
	for i, tok := range ours {
		if len(tok.Top) < most || slices.ContainsFunc(tok.Top, func(a exchange.Alternative) bool { return a.ID == nil }) {
			t.Errorf("token %d: ours has %d candidates, want %d with ids", i, len(tok.Top), most)
		}
	}
	t.Logf("go-openai lost %d of %d candidates", lost, 8*most)
}

func vllmLengths(t *testing.T, b both) {
	b.lengths(t)
	// 0 is dropped by go-openai, and vLLM's own default for completions is 16.
	if n := b.plainComplete(t, openai.CompletionRequest{Model: "m", Prompt: openPrompt, MaxTokens: 0}).Usage.CompletionTokens; n != 16 {
		t.Errorf("go-openai's MaxTokens: 0 brings %d tokens, want 16", n)
	}
	b.refuses(t, request(exchange.Completions, openPrompt, map[string]any{"max_tokens": 0}), "max_tokens must be at least 1")
	r := request(exchange.Completions, openPrompt, map[string]any{"max_completion_tokens": 2})
	delete(r.Params, "max_tokens")
	if _, reply := b.do(t, r); reply.Usage.Completion != 16 {
		t.Errorf("max_completion_tokens on completions: %d tokens, want it ignored: 16", reply.Usage.Completion)
	}
	stops := b.plainChat(t, plainChat(shortChat, 40, 0.01))
	if n := stops.Usage.CompletionTokens; n >= 40 || stops.Choices[0].FinishReason != openai.FinishReasonStop {
		t.Errorf("%q has an answer of %d tokens: name a prompt with a short one", shortChat, n)
	}
	for _, params := range []map[string]any{{"min_tokens": 40}, {"ignore_eos": true}} {
		params["max_tokens"] = 40
		if n := b.chat(t, shortChat, params).Usage.Completion; n != 40 {
			t.Errorf("%v: %d tokens, want 40", params, n)
		}
	}
}

// vllmFields: traps 5 and 8.
func vllmFields(t *testing.T, b both) {
	hidden := b.chat(t, openChat, map[string]any{"extra_body": map[string]any{"return_token_ids": true}, "no_such_field": 1})
	if hidden.TokenIDs != nil {
		t.Error("extra_body is a way of Python's client to write the body; here it had an effect")
	}
	if hidden.Usage == nil || hidden.Usage.Cached != nil {
		t.Errorf("usage %+v: want no count of cached tokens", hidden.Usage)
	}
	for _, api := range []exchange.API{exchange.Chat, exchange.Completions} {
		x, r := b.do(t, request(api, openChat, map[string]any{"return_token_ids": true, "prompt_logprobs": 1}))
		if len(r.TokenIDs) != 4 || len(r.PromptTokenIDs) != r.Usage.Prompt || len(r.Prompt) != r.Usage.Prompt {
			t.Fatalf("%s: %d ids, %d of the prompt, %d prompt_logprobs, usage %+v", api, len(r.TokenIDs), len(r.PromptTokenIDs), len(r.Prompt), r.Usage)
		}
		for i, p := range r.Prompt {
			if first := i == 0; (p.Logprob == nil) != first || first && p.Top != nil || !first && len(p.Top) == 0 {
				t.Errorf("%s, position %d: %+v; want the first alone to be empty", api, i, p)
			}
		}
		ownFirst(t, x.Raw, r.PromptTokenIDs)
	}
	r := request(exchange.Completions, openPrompt, map[string]any{"return_token_ids": true,
		"stream_options": map[string]any{"include_usage": true, "continuous_usage_stats": true}})
	r.Stream = true
	_, reply := b.do(t, r)
	n := 0
	for i, c := range reply.Chunks {
		if n += len(c.TokenIDs); c.Usage == nil || c.Usage.Completion != n {
			t.Errorf("chunk %d: usage %+v after %d tokens", i, c.Usage, n)
		}
	}
	if n != 4 || len(reply.PromptTokenIDs) != reply.Usage.Prompt {
		t.Errorf("streamed: %d ids, %d of the prompt, usage %+v", n, len(reply.PromptTokenIDs), reply.Usage)
	}
}

// ownFirst: prompt_logprobs is a list of maps by token id, null first, and each
// map begins with the prompt's own token, which is how it is found when no ids
// are told.
func ownFirst(t *testing.T, raw []byte, ids []int) {
	t.Helper()
	_, list, ok := strings.Cut(string(raw), `"prompt_logprobs":[null`)
	if !ok {
		t.Fatalf("no prompt_logprobs that begin with null: %s", raw)
	}
	for i, id := range ids[1:] {
		list = list[strings.Index(list, ",{\"")+1:]
		if want := fmt.Sprintf(`{"%d":{"logprob":`, id); !strings.HasPrefix(list, want) {
			t.Fatalf("position %d begins with %.40s, want %s", i+1, list, want)
		}
	}
}

// vllmStructured: trap 6.
func vllmStructured(t *testing.T, b both) {
	choice := []string{"yes", "no"}
	q := plainChat(shortChat, 8, 0.01)
	q.GuidedChoice = choice
	if got := b.plainChat(t, q).Choices[0].Message.Content; slices.Contains(choice, got) {
		t.Errorf("go-openai's GuidedChoice has an effect: %q", got)
	}
	r := b.chat(t, shortChat, map[string]any{"max_tokens": 8, "structured_outputs": map[string]any{"choice": choice}})
	if !slices.Contains(choice, r.Text) {
		t.Errorf("structured_outputs: %q, want one of %q", r.Text, choice)
	}
}

// TestVLLMTrapsBfloat16: what a bfloat16 head does to log-probabilities. It has
// 8 bits, so logits from 8 on are multiples of 1/16, and candidates tie.
func TestVLLMTrapsBfloat16(t *testing.T) {
	b := bothOf(t, start(t, vllm("vLLM, SmolLM2-135M", "smollm2"), variant{}))
	r := b.complete(t, "The sea is", map[string]any{"max_tokens": 8, "logprobs": 20, "return_tokens_as_token_ids": true})
	const grid = 1. / 32 // logits of 4 and more
	pairs, ties, smallest := 0, 0, math.Inf(1)
	for i, tok := range r.Tokens {
		for k := 1; k < len(tok.Top); k++ {
			step := *tok.Top[k-1].Logprob - *tok.Top[k].Logprob
			pairs++
			switch off := math.Abs(step - grid*math.Round(step/grid)); {
			case off > 1e-4: // float32 at a magnitude of 32 has 4e-6
				t.Errorf("token %d: candidates %d and %d are %v apart, no multiple of %v", i, k-1, k, step, grid)
			case step < grid/2:
				ties++
			default:
				smallest = min(smallest, step)
			}
		}
	}
	t.Logf("%d pairs of neighbours, %d exact ties, smallest step %v nats", pairs, ties, smallest)
	if pairs < 100 || ties == 0 {
		t.Errorf("%d exact ties in %d pairs: want some in 8 times 19", ties, pairs)
	}
	if smallest > parity.TieFloor {
		t.Errorf("a step of %v nats: a near-tie of %v would be none", smallest, parity.TieFloor)
	}
}

func TestLlamaTraps(t *testing.T) {
	b := bothOf(t, start(t, llama("llama-server", tinyFile(t)), variant{}))
	t.Run("temperature", func(t *testing.T) { llamaTemperature(t, b) })
	t.Run("log-probabilities", func(t *testing.T) { llamaLogprobs(t, b) })
	t.Run("one entry a character", func(t *testing.T) { llamaEntries(t, b) })
	t.Run("lengths", func(t *testing.T) { llamaLengths(t, b) })
	t.Run("token ids as a prompt", b.tokenPrompt)
	t.Run("chat stream", func(t *testing.T) { b.streamed(t, true) })
	t.Run("fields of vLLM", func(t *testing.T) {
		r := b.complete(t, openPrompt, map[string]any{"prompt_logprobs": 1, "return_token_ids": true, "echo": true, "no_such_field": 1})
		if r.Prompt != nil || r.TokenIDs != nil || strings.Contains(r.Text, openPrompt) {
			t.Errorf("prompt_logprobs, return_token_ids or echo have an effect: %+v", r)
		}
		q := openai.CompletionRequest{Model: "m", Prompt: openPrompt, MaxTokens: 4, Echo: true}
		if text := b.plainComplete(t, q).Choices[0].Text; strings.Contains(text, openPrompt) {
			t.Errorf("go-openai's Echo has an effect: %q", text)
		}
	})
	t.Run("cached tokens", func(t *testing.T) { llamaCached(t, b) })
	t.Run("empty message", func(t *testing.T) {
		var status *openai.APIError
		if _, err := b.plain.CreateChatCompletion(t.Context(), plainChat("", 1, 0)); !errors.As(err, &status) || status.HTTPStatusCode != http.StatusBadRequest {
			t.Errorf("go-openai's empty message: %v, want HTTP 400: content is not sent", err)
		}
		b.chat(t, "", nil)
	})
	t.Run("model names", func(t *testing.T) {
		_, err := b.plain.CreateCompletion(t.Context(), openai.CompletionRequest{Model: "gpt-4o", Prompt: openPrompt, MaxTokens: 1})
		refusedUnsent(t, "completions of gpt-4o", err)
		q := plainChat(openChat, 1, 0)
		q.Model = "o3-mini"
		_, err = b.plain.CreateChatCompletion(t.Context(), q)
		refusedUnsent(t, "max_tokens to o3-mini", err)
		for _, name := range []string{"gpt-4o", "o3-mini", "another"} { // llama-server answers to any name, under its own
			b.ours.SetModel(name)
			if r := b.complete(t, openPrompt, nil); r.Model != "m" {
				t.Errorf("%s: answered as %q", name, r.Model)
			}
		}
		b.ours.SetModel("m")
	})
	t.Run("what is found", func(t *testing.T) {
		b.found(t, exchange.Target{Engine: "llama.cpp", Model: "m", Version: "b1-", Fingerprint: "b1-", TokenizeField: "content", MaxModelLen: 1024}, // 4,096 for 4 slots
			[]exchange.Capability{exchange.CapChat, exchange.CapCompletions, exchange.CapLogprobs, exchange.CapTokenPrompt,
				exchange.CapTokenize, exchange.CapStream, exchange.CapStreamUsage, exchange.CapIgnoreEOS, exchange.CapCachedTokens},
			[]exchange.Capability{exchange.CapTokenIDs, exchange.CapPromptIDs})
		if status, _, body, err := b.ours.Get(t.Context(), "/metrics"); err != nil || status != http.StatusOK || !strings.Contains(string(body), "\nllamacpp:") {
			t.Errorf("/metrics: HTTP %d, %v, %.80s", status, err, body)
		}
	})
}

// llamaTemperature: an absent temperature is 0.8. A tiny one is no greedy
// decoding either, and worse than noise: a logit divided by 1e-45 is infinite,
// infinity less infinity is NaN, no sum of NaN reaches the drawn number, and
// then the last candidate is taken (llama_sampler_dist_apply): always the least
// likely one that top_k, top_p and min_p left.
func llamaTemperature(t *testing.T, b both) {
	var props struct {
		Defaults struct {
			Params map[string]any `json:"params"`
		} `json:"default_generation_settings"`
	}
	_, _, body, err := b.ours.Get(t.Context(), "/props")
	if err == nil {
		err = json.Unmarshal(body, &props)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05} {
		if got, ok := props.Defaults.Params[name].(float64); !ok || math.Abs(got-want) > 1e-6 {
			t.Errorf("the default of %s is %v, want %v", name, props.Defaults.Params[name], want)
		}
	}
	ours := b.inTurn(t, request(exchange.Chat, openChat, nil))
	t.Logf("ours, 0: %d distinct of %d: %v", len(ours), draws, ours)
	likeliest := b.chat(t, openChat, map[string]any{"logprobs": true, "top_logprobs": 1}).Tokens[0].Top[0].Text
	for text := range ours {
		if len(ours) != 1 || !strings.HasPrefix(text, likeliest) {
			t.Errorf("ours: %v, want one answer, that begins with %q", ours, likeliest)
		}
	}
	ask := func(temperature float32) map[string]int {
		return crowd(t, func(ctx context.Context) (string, error) {
			r, err := b.plain.CreateChatCompletion(ctx, plainChat(openChat, 4, temperature))
			if err != nil || len(r.Choices) == 0 {
				return "", fmt.Errorf("%d choices, %w", len(r.Choices), err)
			}
			return r.Choices[0].Message.Content, nil
		})
	}
	dropped, smallest := ask(0), ask(math.SmallestNonzeroFloat32)
	t.Logf("go-openai, 0, which it drops: %d distinct of %d", len(dropped), draws)
	t.Logf("go-openai, math.SmallestNonzeroFloat32: %d distinct of %d: %v", len(smallest), draws, smallest)
	if len(dropped) < 2 {
		t.Errorf("go-openai, 0: always %v: it is greedy now, correct %s", dropped, enginesDoc)
	}
	for text := range smallest {
		if strings.HasPrefix(text, likeliest) {
			t.Errorf("go-openai, math.SmallestNonzeroFloat32: %q begins with the likeliest token, %q: correct %s", text, likeliest, enginesDoc)
		}
	}
}

// llamaLogprobs: completions have them in chat's shape, which go-openai's type
// for completions drops.
func llamaLogprobs(t *testing.T, b both) {
	plain := b.plainComplete(t, openai.CompletionRequest{Model: "m", Prompt: openPrompt, MaxTokens: 4, LogProbs: 2})
	if l := plain.Choices[0].LogProbs; len(l.Tokens) != 0 || len(l.TopLogprobs) != 0 {
		t.Errorf("go-openai finds log-probabilities: %+v", l)
	}
	r := b.complete(t, openPrompt, map[string]any{"logprobs": 2})
	if len(r.Tokens) != 4 || len(r.TokenIDs) != 4 {
		t.Fatalf("ours: %d log-probabilities, %d ids; want 4", len(r.Tokens), len(r.TokenIDs))
	}
	text := ""
	for i, tok := range r.Tokens {
		text += string(tok.Bytes)
		if tok.Logprob == nil || tok.ID == nil || *tok.ID != r.TokenIDs[i] || len(tok.Top) != 2 || tok.Top[0].ID == nil {
			t.Errorf("token %d: %+v", i, tok)
		}
	}
	if text != r.Text {
		t.Errorf("the bytes are %q, the text %q", text, r.Text)
	}
	// 0 means none at all here, and no number means 20.
	if n := len(b.complete(t, openPrompt, map[string]any{"logprobs": 0}).Tokens); n != 0 {
		t.Errorf("logprobs 0: %d came, want none", n)
	}
	if n := len(b.chat(t, openChat, map[string]any{"logprobs": true, "top_logprobs": 0}).Tokens); n != 0 {
		t.Errorf("top_logprobs 0: %d came, want none", n)
	}
	q := plainChat(openChat, 4, 0)
	q.LogProbs = true
	if l := b.plainChat(t, q).Choices[0].LogProbs; l == nil || len(l.Content) != 4 || len(l.Content[0].TopLogProbs) != 20 {
		t.Errorf("go-openai's LogProbs alone: %+v, want 4 with 20 alternatives", l)
	}
	b.refuses(t, request(exchange.Chat, openChat, map[string]any{"top_logprobs": 2}), "logprobs")
}

// llamaEntries: a character that several tokens spell has one entry. A grammar
// makes the model write it; usage counts the end of the text as well.
func llamaEntries(t *testing.T, b both) {
	const wave = "👋"
	r := b.complete(t, openPrompt, map[string]any{"max_tokens": 16, "logprobs": 1, "grammar": `root ::= "` + wave + `"`})
	if r.Text != wave || len(r.Tokens) == 0 || string(r.Tokens[0].Bytes) != wave {
		t.Fatalf("%q, %+v", r.Text, r.Tokens)
	}
	t.Logf("%d entries, usage %d", len(r.Tokens), r.Usage.Completion)
	if len(r.Tokens) >= r.Usage.Completion {
		t.Errorf("%d entries for %d tokens: want fewer", len(r.Tokens), r.Usage.Completion)
	}
}

func llamaLengths(t *testing.T, b both) {
	b.lengths(t)
	// vLLM refuses 0; here it is one token.
	if r := b.complete(t, openPrompt, map[string]any{"max_tokens": 0}); r.Usage.Completion != 1 {
		t.Errorf("max_tokens 0: %d tokens, want 1", r.Usage.Completion)
	}
	r := request(exchange.Completions, openPrompt, map[string]any{"max_completion_tokens": 2})
	delete(r.Params, "max_tokens")
	if _, reply := b.do(t, r); reply.Usage.Completion != 2 {
		t.Errorf("max_completion_tokens on completions: %d tokens, want 2", reply.Usage.Completion)
	}
	free := b.chat(t, shortChat, map[string]any{"max_tokens": 40})
	least := b.chat(t, shortChat, map[string]any{"max_tokens": 40, "min_tokens": 40})
	if free.FinishReason != "stop" || least.Text != free.Text || least.Usage.Completion >= 40 {
		t.Errorf("min_tokens is no longer ignored: %q and %q (%s)", free.Text, least.Text, free.FinishReason)
	}
	if n := b.chat(t, shortChat, map[string]any{"max_tokens": 40, "ignore_eos": true}).Usage.Completion; n != 40 {
		t.Errorf("ignore_eos: %d tokens, want 40", n)
	}
}

// llamaCached: cached_tokens and timings are in each reply, asked for or not.
func llamaCached(t *testing.T, b both) {
	for _, api := range []exchange.API{exchange.Chat, exchange.Completions} {
		text := fmt.Sprintf("A text that no other request has, on %s: %s", api, filepath.Base(t.TempDir()))
		for i := range 2 {
			x, r := b.do(t, request(api, text, nil))
			if r.Usage == nil || r.Usage.Cached == nil || !strings.Contains(string(x.Raw), `"timings":{"cache_n":`) {
				t.Fatalf("%s: no cached_tokens or timings in %s", api, x.Raw)
			}
			if hit := *r.Usage.Cached*2 > r.Usage.Prompt; hit != (i == 1) {
				t.Errorf("%s, request %d: %d of %d tokens were cached", api, i+1, *r.Usage.Cached, r.Usage.Prompt)
			}
		}
	}
	// A stream of completions has its usage unasked, one of chat has not.
	r := request(exchange.Completions, openPrompt, nil)
	r.Stream = true
	if _, reply := b.do(t, r); reply.Usage == nil || reply.Usage.Cached == nil {
		t.Errorf("streamed completions: usage %+v", reply.Usage)
	}
}
