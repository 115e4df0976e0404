package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"touchstone/harness/refserver/sched"
	"touchstone/harness/refserver/token"
)

// maxLogprobs is vLLM's default of --max-logprobs.
const maxLogprobs = 20

// defaultMaxTokens is OpenAI's, and vLLM's, for completions.
const defaultMaxTokens = 16

// job is a request that was understood.
type job struct {
	chat     bool
	id       string
	sched    sched.Request
	stop     []string
	stream   bool
	usage    bool // stream_options.include_usage
	running  bool // stream_options.continuous_usage_stats
	tokenIDs bool // return_token_ids
	byID     bool // return_tokens_as_token_ids
	top      int  // alternatives to show for each token, if sched.Logprobs is set
}

// parse reads a completion or chat request.
func (s *Server) parse(f *fields, chat bool) (*job, *apiError) {
	s.checkModel(f)
	j := &job{chat: chat}
	j.sched.Sampling = sched.Sampling{
		Temperature: field(f, "temperature", 1.0),
		TopP:        field(f, "top_p", 1.0),
		TopK:        field(f, "top_k", 0),
		Seed:        optional[int64](f, "seed"),
	}
	j.sched.IgnoreEOS = field(f, "ignore_eos", false)
	j.sched.MinTokens = field(f, "min_tokens", 0)
	j.sched.CacheSalt = j.salt(f)
	j.tokenIDs = field(f, "return_token_ids", false)
	j.byID = field(f, "return_tokens_as_token_ids", false)
	j.id = field(f, "request_id", "")
	field(f, "user", "") // OpenAI's name of the end user: changes nothing by definition
	j.parseStop(f)
	j.parseStream(f)
	j.parseLogprobs(f)
	if chat {
		j.sched.Prompt = s.chatPrompt(f)
	} else {
		j.sched.Prompt = s.completionPrompt(f)
	}
	s.parseLength(f, j)
	refuseOthers(f, chat)
	if err := f.done(); err != nil {
		return nil, err
	}
	// A reader that looks for stop strings must see every token as it comes.
	j.sched.Quiet = !j.stream && len(j.stop) == 0
	return j, nil
}

func (s *Server) checkModel(f *fields) {
	if name := field(f, "model", s.cfg.ModelName); f.err == nil && name != s.cfg.ModelName {
		param := "model"
		f.fail(&apiError{Message: fmt.Sprintf("The model `%s` does not exist; this server has `%s`.", name, s.cfg.ModelName),
			Type: "NotFoundError", Param: &param, Code: 404})
	}
}

func (j *job) salt(f *fields) string {
	salt := optional[string](f, "cache_salt")
	if salt == nil {
		return ""
	}
	if *salt == "" {
		f.fail(badField("cache_salt", "is empty; give a string, or leave it out"))
	}
	return *salt
}

func (j *job) parseStop(f *fields) {
	raw := f.take("stop")
	if raw == nil {
		return
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		j.stop = []string{one}
	} else if json.Unmarshal(raw, &j.stop) != nil {
		f.fail(badField("stop", "is %s, a string or a list of strings is needed", clip(raw)))
	}
	if slices.Contains(j.stop, "") {
		f.fail(badField("stop", "holds an empty string, which every text contains"))
	}
}

func (j *job) parseStream(f *fields) {
	j.stream = field(f, "stream", false)
	raw := f.take("stream_options")
	if raw == nil {
		return
	}
	if !j.stream {
		f.fail(badField("stream_options", "can only be given with stream: true"))
		return
	}
	o := &fields{}
	if err := json.Unmarshal(raw, &o.raw); err != nil {
		f.fail(badField("stream_options", "is %s, an object is needed", clip(raw)))
		return
	}
	dropNulls(o.raw)
	j.usage = field(o, "include_usage", false)
	j.running = field(o, "continuous_usage_stats", false) && j.usage // vLLM: only together
	o.neutral("include_obfuscation", false)
	if err := o.done(); err != nil {
		f.fail(badField("stream_options."+*err.Param, "%s", strings.TrimPrefix(err.Message, *err.Param+" ")))
	}
}

// parseLogprobs reads the two dialects: completions count alternatives in
// logprobs, chat switches with logprobs and counts in top_logprobs.
func (j *job) parseLogprobs(f *fields) {
	if j.chat {
		on := field(f, "logprobs", false)
		top := optional[int](f, "top_logprobs")
		if top != nil && *top != 0 && !on {
			f.fail(badField("top_logprobs", "needs logprobs: true"))
		}
		if on {
			j.sched.Logprobs = new(int)
			if top != nil {
				j.sched.Logprobs = top
			}
			limitLogprobs(f, "top_logprobs", *j.sched.Logprobs)
		}
	} else if n := optional[int](f, "logprobs"); n != nil {
		j.sched.Logprobs = n
		limitLogprobs(f, "logprobs", *n)
	}
	if j.sched.Logprobs != nil {
		j.top = *j.sched.Logprobs
	}
	if n := optional[int](f, "prompt_logprobs"); n != nil {
		j.sched.PromptLogprobs = n
		limitLogprobs(f, "prompt_logprobs", *n)
		if j.stream {
			f.fail(badField("prompt_logprobs", "cannot be given with stream: true"))
		}
	}
}

func limitLogprobs(f *fields, name string, n int) {
	if n < 0 || n > maxLogprobs {
		f.fail(badField(name, "is %d, outside 0 to %d", n, maxLogprobs))
	}
}

// parseLength settles how many tokens to generate: what was asked for must fit
// the context, what was not is cut to it.
func (s *Server) parseLength(f *fields, j *job) {
	max := optional[int](f, "max_tokens")
	if j.chat {
		if n := optional[int](f, "max_completion_tokens"); n != nil {
			max = n
		}
	}
	room := s.cfg.MaxModelLen - len(j.sched.Prompt)
	switch {
	case f.err != nil:
	case max != nil:
		j.sched.MaxTokens = *max
	case room < 1:
		f.fail(badField(promptField(j.chat), "has %d tokens, the model's maximum context length is %d tokens, of which at least 1 is generated",
			len(j.sched.Prompt), s.cfg.MaxModelLen))
	case j.chat:
		j.sched.MaxTokens = room
	default:
		j.sched.MaxTokens = min(defaultMaxTokens, room)
	}
}

func promptField(chat bool) string {
	if chat {
		return "messages"
	}
	return "prompt"
}

// completionPrompt reads a prompt: text or token ids, or a list of one of these.
func (s *Server) completionPrompt(f *fields) []int {
	addSpecial := field(f, "add_special_tokens", true)
	raw := f.take("prompt")
	if raw == nil {
		f.fail(badField("prompt", "is missing"))
		return nil
	}
	ids, err := s.promptIDs(raw, addSpecial)
	if err != nil {
		f.fail(err)
	}
	return ids
}

func (s *Server) promptIDs(raw json.RawMessage, addSpecial bool) ([]int, *apiError) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, badField("prompt", "is no JSON: %v", err)
	}
	list, isList := v.([]any)
	if isList && len(list) == 0 {
		return nil, badField("prompt", "has no tokens, at least 1 is needed")
	}
	if isList && !isNumber(list[0]) { // a list of prompts
		if len(list) > 1 {
			return nil, badField("prompt", "is a list of %d; this server takes one prompt a request", len(list))
		}
		v = list[0]
		list, isList = v.([]any)
	}
	if text, ok := v.(string); ok {
		return s.cfg.Tokenizer.Encode(text, addSpecial, true), nil
	}
	if !isList {
		return nil, badField("prompt", "is %s, a string or a list of token ids is needed", clip(raw))
	}
	ids := make([]int, len(list))
	for i, e := range list {
		n, ok := e.(float64)
		if !ok || n != float64(int(n)) {
			return nil, badField("prompt", "has %v at position %d, a token id is needed", e, i)
		}
		ids[i] = int(n)
	}
	return ids, nil // the engine holds them against its vocabulary
}

func isNumber(v any) bool {
	_, ok := v.(float64)
	return ok
}

// chatPrompt reads messages and lays them out by the model's template.
func (s *Server) chatPrompt(f *fields) []int {
	generate := field(f, "add_generation_prompt", true)
	f.neutral("add_special_tokens", false) // the template writes them
	messages := readMessages(f)
	if f.err != nil {
		return nil
	}
	if s.cfg.Template == nil {
		f.fail(badRequest("the model has no chat template; use /v1/completions"))
		return nil
	}
	ids, err := s.cfg.Template.EncodeChat(messages, generate)
	if err != nil {
		f.fail(badField("messages", "do not fit the chat template: %v", err))
	}
	return ids
}

func readMessages(f *fields) []token.Message {
	raw := f.take("messages")
	if raw == nil {
		f.fail(badField("messages", "is missing"))
		return nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		f.fail(badField("messages", "is %s, a list of at least one {role, content} is needed", clip(raw)))
		return nil
	}
	out := make([]token.Message, len(list))
	for i, m := range list {
		dropNulls(m)
		o := &fields{raw: m}
		out[i].Role = field(o, "role", "")
		out[i].Content = readContent(o)
		o.neutral("tool_calls", []any{})
		if o.err == nil && out[i].Role == "" {
			o.fail(badField("role", "is missing"))
		}
		if err := o.done(); err != nil {
			f.fail(badField("messages", "[%d]: %s", i, err.Message))
			return nil
		}
	}
	return out
}

// readContent takes a string or a list of text parts, which vLLM joins by line
// breaks.
func readContent(o *fields) string {
	raw := o.take("content")
	var text string
	if raw == nil || json.Unmarshal(raw, &text) == nil {
		if raw == nil {
			o.fail(badField("content", "is missing"))
		}
		return text
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		o.fail(badField("content", "is %s, a string or a list of text parts is needed", clip(raw)))
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			o.fail(badField("content", "has a part of type %q; this server takes text only", p.Type))
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

func dropNulls(m map[string]json.RawMessage) {
	for k, v := range m {
		if string(v) == "null" {
			delete(m, k)
		}
	}
}

// refuseOthers lists the fields of OpenAI's and vLLM's requests that are not
// implemented, with the values that ask for nothing.
func refuseOthers(f *fields, chat bool) {
	f.neutral("n", 1.0)
	f.neutral("best_of", 1.0)
	f.neutral("echo", false)
	f.neutral("min_p", 0.0)
	f.neutral("presence_penalty", 0.0)
	f.neutral("frequency_penalty", 0.0)
	f.neutral("repetition_penalty", 1.0)
	f.neutral("length_penalty", 1.0)
	f.neutral("use_beam_search", false)
	f.neutral("logit_bias", map[string]any{})
	f.neutral("response_format", map[string]any{"type": "text"})
	f.neutral("stop_token_ids", []any{})
	f.neutral("include_stop_str_in_output", false)
	f.neutral("skip_special_tokens", true)
	f.neutral("spaces_between_special_tokens", true, false) // of a fast tokenizer both are one
	f.neutral("allowed_token_ids", []any{})
	f.neutral("bad_words", []any{})
	f.neutral("logits_processors", []any{})
	f.neutral("priority", 0.0)
	f.neutral("vllm_xargs", map[string]any{})
	f.neutral("metadata", map[string]any{})
	f.neutral("store", false)
	f.neutral("service_tier", "auto", "default")
	if !chat {
		f.neutral("suffix", "")
		return
	}
	f.neutral("tools", []any{})
	f.neutral("tool_choice", "none", "auto")
	f.neutral("parallel_tool_calls", true, false)
	f.neutral("continue_final_message", false)
	f.neutral("chat_template_kwargs", map[string]any{})
	f.neutral("documents", []any{})
	f.neutral("include_reasoning", true)
	f.neutral("modalities", []any{"text"})
}
