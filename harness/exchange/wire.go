package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The shapes on the wire. One set of types holds what vLLM, SGLang and
// llama.cpp send for chat and completions, streamed and not: the field names
// don't clash, and the same fault then has one place to be decoded wrongly.

type wireObject struct {
	Object      string          `json:"object"`
	Model       string          `json:"model"`
	Fingerprint string          `json:"system_fingerprint"`
	Choices     []wireChoice    `json:"choices"`
	Usage       *wireUsage      `json:"usage"`
	Timings     *wireTimings    `json:"timings"` // llama.cpp
	Error       json.RawMessage `json:"error"`
	Message     json.RawMessage `json:"message"` // {"object":"error","message":…}
	Detail      json.RawMessage `json:"detail"`  // FastAPI
	// Chat on vLLM puts these at the top, completions into the choice.
	PromptTokenIDs []int               `json:"prompt_token_ids"`
	PromptLogprobs wirePromptPositions `json:"prompt_logprobs"`
}

type wireChoice struct {
	Index          int                 `json:"index"`
	Text           *string             `json:"text"`
	Message        *wireMessage        `json:"message"`
	Delta          *wireMessage        `json:"delta"`
	FinishReason   *string             `json:"finish_reason"`
	Logprobs       *wireLogprobs       `json:"logprobs"`
	TokenIDs       []int               `json:"token_ids"`
	PromptTokenIDs []int               `json:"prompt_token_ids"`
	PromptLogprobs wirePromptPositions `json:"prompt_logprobs"`
}

type wireMessage struct {
	Content          *string `json:"content"`
	Reasoning        *string `json:"reasoning"`         // vLLM
	ReasoningContent *string `json:"reasoning_content"` // SGLang, llama.cpp
	// Not decoded: they only show that the chunk carried tokens.
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// reasoning prefers the newer name; a server that sends both sends one text
// twice (vLLM did for a while).
func (m *wireMessage) reasoning() string {
	if s := text(m.Reasoning); s != "" {
		return s
	}
	return text(m.ReasoningContent)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// wireLogprobs is the chat form (Content) or the legacy form of completions
// (the other three). llama.cpp uses the chat form for completions as well.
type wireLogprobs struct {
	Content       []wireToken          `json:"content"`
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []logprob            `json:"token_logprobs"`
	TopLogprobs   []map[string]logprob `json:"top_logprobs"`
}

type wireToken struct {
	ID          *int        `json:"id"`
	Token       string      `json:"token"`
	Bytes       []byte      `json:"bytes"` // an array of numbers
	Logprob     logprob     `json:"logprob"`
	TopLogprobs []wireToken `json:"top_logprobs"`
}

type wireUsage struct {
	Prompt     *int `json:"prompt_tokens"`
	Completion *int `json:"completion_tokens"`
	Total      int  `json:"total_tokens"`
	Details    *struct {
		Cached *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// wireTimings is llama.cpp's own account of a request.
type wireTimings struct {
	CacheN *int `json:"cache_n"`
}

// usage returns nil where either count is missing: a missing count is not 0.
func (o *wireObject) usage() *Usage {
	w := o.Usage
	if w == nil || w.Prompt == nil || w.Completion == nil {
		return nil
	}
	u := &Usage{Prompt: *w.Prompt, Completion: *w.Completion, Total: w.Total}
	switch {
	case w.Details != nil && w.Details.Cached != nil:
		u.Cached = w.Details.Cached
	case o.Timings != nil:
		u.Cached = o.Timings.CacheN
	}
	return u
}

// floorLogprob and everything below it is a sentinel for minus infinity:
// -9999 on vLLM and TensorRT-LLM, -3.4028235e38 on llama.cpp and SGLang
// (correctness.md §0.7). No softmax in float32 gives a true value that low.
const floorLogprob = -9999

// logprob is a log-probability as servers write it. v is nil for null, NaN
// and the sentinels; only the sentinels set censored.
type logprob struct {
	v        *float64
	censored bool
}

func (l *logprob) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "null" || strings.EqualFold(s, "nan") {
		*l = logprob{}
		return nil
	}
	f, err := strconv.ParseFloat(s, 64) // takes "-Infinity" too
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("log-probability %s is no number", b)
	}
	switch {
	case f <= floorLogprob:
		*l = logprob{censored: true}
	case f > 1e300: // +Inf means as little as NaN
		*l = logprob{}
	default:
		*l = logprob{v: &f}
	}
	return nil
}

// tokenID reads the "token_id:N" of return_tokens_as_token_ids. The string is
// then a name and not the token's text.
func tokenID(s string) (id *int, isName bool) {
	num, ok := strings.CutPrefix(s, "token_id:")
	if !ok {
		return nil, false
	}
	n, err := strconv.Atoi(num)
	if err != nil {
		return nil, false
	}
	return &n, true
}

// wirePromptPositions is prompt_logprobs: a list of objects from token id to
// {logprob, rank, decoded_token}, null at the first token. Their order is
// kept, because vLLM writes the prompt's own token first and says so nowhere
// else.
type wirePromptPositions [][]wirePromptEntry

type wirePromptEntry struct {
	id      int
	Logprob logprob `json:"logprob"`
	Text    string  `json:"decoded_token"`
}

func (p *wirePromptPositions) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if list == nil {
		return nil
	}
	out := make(wirePromptPositions, len(list))
	for i, raw := range list {
		entries, err := promptEntries(raw)
		if err != nil {
			return fmt.Errorf("prompt_logprobs[%d]: %w", i, err)
		}
		out[i] = entries
	}
	*p = out
	return nil
}

func promptEntries(raw json.RawMessage) ([]wirePromptEntry, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	switch t, err := dec.Token(); {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, nil
	case t != json.Delim('{'):
		return nil, fmt.Errorf("%v is neither null nor an object", t)
	}
	entries := []wirePromptEntry{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		id, err := strconv.Atoi(fmt.Sprint(key))
		if err != nil {
			return nil, fmt.Errorf("%q is no token id", key)
		}
		e := wirePromptEntry{id: id}
		if err := dec.Decode(&e); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// unmarshal reads JSON, and Python's dialect of it where a server writes bare
// NaN and Infinity (json.dumps does, by default).
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	plain := withoutNaN(data)
	if plain == nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

var nonNumbers = []struct{ from, to string }{
	{"-Infinity", "-1e999"}, // logprob reads it as the floor
	{"Infinity", "null"},
	{"NaN", "null"},
}

// withoutNaN replaces NaN and ±Infinity outside strings; nil when there are
// none.
func withoutNaN(data []byte) []byte {
	var out []byte
	inString := false
	done := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == '-' || c == 'I' || c == 'N'):
			for _, n := range nonNumbers {
				if bytes.HasPrefix(data[i:], []byte(n.from)) {
					out = append(append(out, data[done:i]...), n.to...)
					i += len(n.from) - 1
					done = i + 1
					break
				}
			}
		}
	}
	if done == 0 {
		return nil
	}
	return append(out, data[done:]...)
}
