package engine

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"touchstone/harness/client"
	"touchstone/harness/exchange"
)

// find asks a fake once.
func find(t *testing.T, f *fake, model string) (exchange.Target, error) {
	t.Helper()
	return Find(t.Context(), f.start(t, client.Timeouts{}), model, Wait{})
}

func TestFindEverything(t *testing.T) {
	target, err := find(t, full(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range exchange.Capabilities() {
		if !target.Can(c) {
			t.Errorf("%s: %q, want present", c, target.Capabilities[c])
		}
	}
	if target.Model != "m" || target.VocabSize != 32000 || target.MaxModelLen != 4096 || target.Fingerprint != "fp1" || target.TokenizeField != "prompt" {
		t.Errorf("%+v", target)
	}
	if len(target.Neutral) != len(neutral) {
		t.Errorf("neutral fields %v, want all %d", target.Neutral, len(neutral))
	}
}

// What a server lacks is told from what it promised and did not do.
func TestFindWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		cut  func(*fake)
		caps map[exchange.Capability]exchange.State
	}{
		// A base model: what chat can't tell is asked on completions.
		"no chat": {func(f *fake) { f.chat = false }, map[exchange.Capability]exchange.State{
			exchange.CapChat: exchange.Absent, exchange.CapStream: exchange.Present, exchange.CapStreamUsage: exchange.Present, exchange.CapCompletions: exchange.Present}},
		"no completions": {func(f *fake) { f.completions = false }, map[exchange.Capability]exchange.State{
			exchange.CapCompletions: exchange.Absent, exchange.CapTokenPrompt: exchange.Absent, exchange.CapChat: exchange.Present}},
		"no ids": {func(f *fake) { f.tokenIDs = false }, map[exchange.Capability]exchange.State{
			exchange.CapTokenIDs: exchange.Absent, exchange.CapPromptIDs: exchange.Absent}},
		"no logprobs":     {func(f *fake) { f.logprobs = 0 }, map[exchange.Capability]exchange.State{exchange.CapLogprobs: exchange.Absent}},
		"one alternative": {func(f *fake) { f.logprobs = 1 }, map[exchange.Capability]exchange.State{exchange.CapLogprobs: exchange.Absent}},
		"ids as text":     {func(f *fake) { f.countsPrompt = false }, map[exchange.Capability]exchange.State{exchange.CapTokenPrompt: exchange.Absent}},
		"no stream usage": {func(f *fake) { f.streamUsage = false }, map[exchange.Capability]exchange.State{exchange.CapStream: exchange.Present, exchange.CapStreamUsage: exchange.Absent}},
		"ignore_eos lies": {func(f *fake) { f.longest = 5 }, map[exchange.Capability]exchange.State{exchange.CapIgnoreEOS: exchange.Lies}},
		"no cached count": {func(f *fake) { f.cached = false }, map[exchange.Capability]exchange.State{exchange.CapCachedTokens: exchange.Absent}},
		"no tokenizer":    {func(f *fake) { f.tokenize = "" }, map[exchange.Capability]exchange.State{exchange.CapTokenize: exchange.Absent}},
		"a stream in one piece": {func(f *fake) { f.stream = false }, map[exchange.Capability]exchange.State{
			exchange.CapStream: exchange.Unknown, exchange.CapStreamUsage: exchange.Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			f := full()
			c.cut(f)
			target, err := find(t, f, "")
			if err != nil {
				t.Fatal(err)
			}
			for capability, want := range c.caps {
				if got := target.Capabilities[capability]; got != want {
					t.Errorf("%s: %q, want %q", capability, got, want)
				}
			}
		})
	}
}

// llama.cpp's /tokenize wants its text under another name.
func TestFindTokenizeField(t *testing.T) {
	f := full()
	f.tokenize = "content"
	target, err := find(t, f, "")
	if err != nil || target.TokenizeField != "content" || !target.Can(exchange.CapTokenize) {
		t.Errorf("%q, %v", target.TokenizeField, err)
	}
}

// A strict server refuses a request for a single field that it doesn't know;
// those that it does know are sent.
func TestFindNeutralFields(t *testing.T) {
	for name, c := range map[string]struct{ fields []string }{
		"OpenAI": {[]string{"top_p", "presence_penalty", "frequency_penalty"}},
		"none":   {[]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := full()
			f.fields = c.fields
			target, err := find(t, f, "")
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			for _, n := range neutral {
				for _, name := range c.fields {
					if n.name == name {
						want[name] = n.value
					}
				}
			}
			if !maps.Equal(target.Neutral, want) {
				t.Errorf("neutral fields %v, want %v", target.Neutral, want)
			}
		})
	}
	f := full()
	f.chat, f.fields = false, []string{"top_k"}
	if target, err := find(t, f, ""); err != nil || len(target.Neutral) != 1 || target.Neutral["top_k"] != -1 {
		t.Errorf("without chat: %v, %v", target.Neutral, err)
	}
}

// A server whose generations hang is no error here, costs a time-out an
// endpoint and not one a question, and is known for nothing.
func TestFindHanging(t *testing.T) {
	f := full()
	f.hangs = true
	target, err := Find(t.Context(), f.start(t, client.Timeouts{Total: 300 * time.Millisecond}), "", Wait{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []exchange.Capability{exchange.CapChat, exchange.CapCompletions, exchange.CapLogprobs, exchange.CapStreamUsage} {
		if target.Capabilities[c] != exchange.Unknown {
			t.Errorf("%s: %q, want unknown", c, target.Capabilities[c])
		}
	}
	if n := f.count("/v1/chat/completions") + f.count("/v1/completions"); n != 2 {
		t.Errorf("%d generations were asked for, want 2", n)
	}
}

func TestFindEngine(t *testing.T) {
	for owner, c := range map[string]struct {
		pages         map[string]string
		name, version string
	}{
		"vllm":       {map[string]string{"/version": `{"version":"0.32.0"}`}, "vllm", "0.32.0"},
		"touchstone": {map[string]string{"/version": `{"version":"dev"}`}, "touchstone", "dev"},
		"llamacpp":   {map[string]string{"/props": `{"build_info":"b4567"}`}, "llama.cpp", "b4567"},
		"sglang":     {map[string]string{"/get_server_info": `{"version":"0.5"}`}, "sglang", "0.5"},
		"somebody":   {nil, "generic", ""},
	} {
		t.Run(owner, func(t *testing.T) {
			f := full()
			f.owner, f.pages = owner, c.pages
			target, err := find(t, f, "")
			if err != nil || target.Engine != c.name || target.Version != c.version {
				t.Errorf("%q %q, %v; want %q %q", target.Engine, target.Version, err, c.name, c.version)
			}
		})
	}
}

func TestFindModel(t *testing.T) {
	const two = `{"data":[{"id":"zebra"},{"id":"ant"}]}`
	for name, c := range map[string]struct{ models, model, want, msg, hint string }{
		"the only one":    {"", "", "m", "", ""},
		"by name":         {two, "ant", "ant", "", ""},
		"not served":      {two, "bee", "", `"bee" is not served`, "ant, zebra"},
		"none named":      {two, "", "", "several models", "--model: ant, zebra"},
		"no list":         {`{"ok":true}`, "", "", "not an OpenAI model list", "--target"},
		"an empty list":   {`{"data":[]}`, "", "", "not an OpenAI model list", "--target"},
		"a list of words": {`["m"]`, "", "", "not an OpenAI model list", "--target"},
	} {
		t.Run(name, func(t *testing.T) {
			f := full()
			f.models = c.models
			target, err := find(t, f, c.model)
			if c.want != "" {
				if err != nil || target.Model != c.want {
					t.Errorf("%q, %v", target.Model, err)
				}
				return
			}
			wantError(t, err, Usage, c.msg, c.hint)
		})
	}
}

func wantError(t *testing.T, err error, kind Kind, msg, hint string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Msg, msg) || !strings.Contains(e.Hint, hint) {
		t.Errorf("got %v, want kind %d, %q, hint %q", err, kind, msg, hint)
	}
}

func TestFindStatuses(t *testing.T) {
	for status, c := range map[int]struct {
		kind      Kind
		msg, hint string
	}{
		401: {Usage, "HTTP 401", "--api-key-file"},
		403: {Usage, "HTTP 403", "TOUCHSTONE_API_KEY"},
		429: {Limited, "HTTP 429", "--concurrency"},
		404: {Usage, "HTTP 404", "not an OpenAI API"},
		500: {Usage, "HTTP 500", "not an OpenAI API"},
		502: {Unreachable, "HTTP 502", "--wait"},
		503: {Unreachable, "HTTP 503", "--wait"},
	} {
		f := full()
		f.first = func(int) int { return status }
		_, err := find(t, f, "")
		wantError(t, err, c.kind, c.msg, c.hint)
	}
	gone := httptest.NewServer(full())
	gone.Close()
	_, err := Find(t.Context(), dial(t, gone.URL, client.Timeouts{}), "", Wait{})
	wantError(t, err, Unreachable, "no HTTP answer", "is the server running")
}

// The wait goes on while the server isn't ready, and while it lists its model
// without generating. Each new reason is told once.
func TestWait(t *testing.T) {
	f := full()
	f.first = func(n int) int {
		switch {
		case n <= 3:
			return 503
		case n == 4: // the list of models
			return 0
		case n == 5: // the first generation
			return 500
		}
		return 0
	}
	var told []string
	target, err := Find(t.Context(), f.start(t, client.Timeouts{}), "", Wait{Limit: time.Minute, Interval: time.Millisecond, Tell: func(why string) { told = append(told, why) }})
	if err != nil || target.Model != "m" {
		t.Fatalf("%q, %v", target.Model, err)
	}
	if len(told) != 2 || !strings.Contains(told[0], "HTTP 503") || !strings.Contains(told[1], "doesn't generate yet") {
		t.Errorf("told %q", told)
	}
}

func TestWaitEnds(t *testing.T) {
	loading := full()
	loading.first = func(int) int { return 503 }
	_, err := Find(t.Context(), loading.start(t, client.Timeouts{}), "", Wait{Limit: 20 * time.Millisecond, Interval: time.Millisecond})
	wantError(t, err, Unreachable, "did not generate within 20ms", "raise --wait")

	// Waiting doesn't mend a wrong key.
	locked := full()
	locked.first = func(int) int { return 401 }
	_, err = Find(t.Context(), locked.start(t, client.Timeouts{}), "", Wait{Limit: time.Hour})
	wantError(t, err, Usage, "HTTP 401", "--api-key-file")
	if n := locked.count("/v1/models"); n != 1 {
		t.Errorf("asked %d times", n)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err = Find(ctx, loading.start(t, client.Timeouts{}), "", Wait{Limit: time.Hour, Interval: time.Millisecond, Tell: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted while it waits: %v", err)
	}
}

// A base model has no chat endpoint; it generates all the same.
func TestWaitForCompletions(t *testing.T) {
	f := full()
	f.chat = false
	if _, err := Find(t.Context(), f.start(t, client.Timeouts{}), "", Wait{Limit: time.Minute, Interval: time.Millisecond}); err != nil {
		t.Error(err)
	}
}

// Interrupted while it asks, the answers say nothing about the server.
func TestFindInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := full()
	f.first = func(n int) int {
		if n == 4 {
			cancel()
		}
		return 0
	}
	if _, err := Find(ctx, f.start(t, client.Timeouts{}), "", Wait{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// nanServer is quack with logits that are NaN, as llama-server and vLLM show
// them.
type nanServer struct {
	quack
	asError bool
}

func (n *nanServer) Do(ctx context.Context, r exchange.Request) *exchange.Exchange {
	x := n.quack.Do(ctx, r)
	switch {
	case r.Params["logprobs"] == nil:
	case n.asError:
		x.Status, x.Raw = 400, []byte(`{"error":{"message":"Out of range float values are not JSON compliant"}}`)
		x.Failure = &exchange.Failure{Class: exchange.HTTPStatus, Detail: "HTTP 400: Out of range float values are not JSON compliant"}
	default:
		x.Raw = []byte(`{"choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":"9"},"logprobs":{"content":[{"id":30,"token":"9","logprob":null,"top_logprobs":[{"id":0,"token":"","logprob":null}]}]}}]}`)
	}
	return x
}

func TestFindNaN(t *testing.T) {
	for _, asError := range []bool{true, false} {
		target, err := Find(t.Context(), &nanServer{asError: asError}, "", Wait{})
		if err != nil {
			t.Fatal(err)
		}
		if !target.NaNLogits || target.Capabilities[exchange.CapLogprobs] != exchange.Absent {
			t.Errorf("as an error %v: NaN %v, log-probabilities %q", asError, target.NaNLogits, target.Capabilities[exchange.CapLogprobs])
		}
	}
	target, err := Find(t.Context(), &quack{}, "", Wait{})
	if err != nil {
		t.Fatal(err)
	}
	if target.NaNLogits {
		t.Error("a healthy server is said to have NaN logits")
	}
}
