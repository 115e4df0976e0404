package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"touchstone/harness/refserver/sched"
)

// reply writes the answer to a job.
type reply struct {
	*job
	srv     *Server
	stream  *sched.Stream
	text    assembler
	head    []byte // {"id":…,"choices":[ with what every chunk of a reply begins
	buf     []byte
	offset  int  // characters of the tokens so far, for text_offset
	nan     bool // a log-probability was NaN
	first   time.Time
	last    time.Time
	started bool // the stream's first line is written
	booked  bool // the end is in the metrics
}

// part is the share of the answer that one chunk carries: all of it when the
// answer is not streamed.
type part struct {
	text     string
	ids      []int
	logprobs [][]sched.Logprob
}

// generate answers a completion or chat request.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, chat bool) {
	f, bad := readFields(w, r)
	if bad != nil {
		writeError(w, bad)
		return
	}
	j, bad := s.parse(f, chat)
	if bad != nil {
		writeError(w, bad)
		return
	}
	stream, err := s.cfg.Engine.Submit(&j.sched)
	if err != nil {
		e := toAPI(err)
		if e.Param != nil && *e.Param == "prompt" {
			*e.Param = promptField(chat)
		}
		writeError(w, e)
		return
	}
	defer stream.Abort() // when the client has gone; nothing when the request has ended
	rep := &reply{job: j, srv: s, stream: stream}
	rep.text = assembler{detok: s.cfg.Tokenizer.NewDetokenizer(), stop: j.stop, min: j.sched.MinTokens}
	rep.head = s.head(j, r.Header.Get("X-Request-Id"))
	if j.stream {
		err = rep.streamed(r.Context(), w)
	} else {
		err = rep.whole(r.Context(), w)
	}
	rep.book(err)
}

// book puts the end of the reply into the metrics, once, and before its last
// byte is sent, so that a client that has the answer finds it counted.
func (r *reply) book(err error) {
	if !r.booked {
		r.booked = true
		r.srv.metrics.finished(r, err)
	}
}

// head is what every JSON object of a reply begins with, up to its choices.
func (s *Server) head(j *job, requestID string) []byte {
	kind, prefix := "text_completion", "cmpl-"
	if j.chat {
		kind, prefix = "chat.completion", "chatcmpl-"
		if j.stream {
			kind = "chat.completion.chunk"
		}
	}
	if j.id == "" {
		j.id = requestID
	}
	if j.id == "" {
		j.id = newID()
	}
	b := appendString([]byte(`{"id":`), prefix+j.id)
	b = appendString(append(b, `,"object":`...), kind)
	b = strconv.AppendInt(append(b, `,"created":`...), time.Now().Unix(), 10)
	b = appendString(append(b, `,"model":`...), s.cfg.ModelName)
	b = appendString(append(b, `,"system_fingerprint":`...), s.cfg.Fingerprint)
	return append(b, `,"choices":[`...)
}

// take puts a batch of outputs into a part, up to a stop string if one ends it.
func (r *reply) take(p *part, b sched.Batch) {
	for i, o := range b.Outputs {
		var finish sched.Finish
		if i == len(b.Outputs)-1 {
			finish = b.Finish
		}
		p.text += r.text.push(o.Token, finish)
		p.ids = append(p.ids, o.Token)
		if o.Logprobs != nil {
			p.logprobs = append(p.logprobs, o.Logprobs)
		}
		r.srv.metrics.token(r, o.At)
		if r.text.finish != "" {
			r.stream.Abort() // a stop string: what the engine drew beyond it is dropped
			return
		}
	}
}

// whole answers in one JSON object.
func (r *reply) whole(ctx context.Context, w http.ResponseWriter) error {
	var all part
	var out []sched.Output
	for r.text.finish == "" {
		b, err := r.stream.Next(ctx, out)
		if err != nil {
			return r.failed(ctx, w, err)
		}
		r.take(&all, b)
		out = b.Outputs
	}
	b := append(r.head, `{"index":0,`...)
	if r.chat {
		b = append(b, `"message":{"role":"assistant","content":`...)
		b = appendString(b, all.text)
		b = append(b, `,"refusal":null,"tool_calls":[]}`...)
	} else {
		b = appendString(append(b, `"text":`...), all.text)
	}
	b = r.appendLogprobs(b, all)
	b = r.appendFinish(b)
	b = r.appendIDs(b, all.ids)
	if !r.chat {
		b = r.appendPrompt(b)
	}
	b = append(b, `}],`...)
	b = r.appendUsage(b, true)
	if r.chat {
		b = r.appendPrompt(b)
	}
	b = append(b, '}')
	if r.nan {
		// What vLLM's JSON encoder says. The message is the client's only hint
		// that the logits are NaN.
		//lint:ignore ST1005 it must read as vLLM's does
		err := errors.New("Out of range float values are not JSON compliant: nan")
		r.book(err)
		writeError(w, serverError(err))
		return err
	}
	r.book(nil)
	writeBody(w, http.StatusOK, b)
	return nil
}

// failed tells the client that there is no answer, unless it left.
func (r *reply) failed(ctx context.Context, w http.ResponseWriter, err error) error {
	if ctx.Err() == nil {
		writeError(w, toAPI(err))
	}
	return err
}

// appendPrompt appends prompt_logprobs and prompt_token_ids: of the choice in
// completions, of the whole object in chat.
func (r *reply) appendPrompt(b []byte) []byte {
	b = append(b, `,"prompt_logprobs":`...)
	if r.sched.PromptLogprobs == nil {
		b = append(b, "null"...)
	} else {
		b = r.appendPromptLogprobs(b, r.stream.PromptLogprobs())
	}
	b = append(b, `,"prompt_token_ids":`...)
	if !r.tokenIDs {
		return append(b, "null"...)
	}
	return appendInts(b, r.sched.Prompt)
}

// appendIDs appends the generated token ids, if asked for.
func (r *reply) appendIDs(b []byte, ids []int) []byte {
	if !r.tokenIDs {
		return append(b, `,"token_ids":null`...)
	}
	return appendInts(append(b, `,"token_ids":`...), ids)
}

// appendFinish appends why the sequence ended. stop_reason is vLLM's: the stop
// string, null for the model's own end.
func (r *reply) appendFinish(b []byte) []byte {
	if r.text.finish == "" {
		return append(b, `,"finish_reason":null,"stop_reason":null`...)
	}
	b = appendString(append(b, `,"finish_reason":`...), r.text.finish)
	b = append(b, `,"stop_reason":`...)
	if r.text.reason == "" {
		return append(b, "null"...)
	}
	return appendString(b, r.text.reason)
}

// appendUsage appends the counts; the final ones tell the cached tokens too.
func (r *reply) appendUsage(b []byte, final bool) []byte {
	prompt := len(r.sched.Prompt)
	b = strconv.AppendInt(append(b, `"usage":{"prompt_tokens":`...), int64(prompt), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(prompt+r.text.count), 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(r.text.count), 10)
	if final {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(r.stream.Cached()), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// name is how log-probabilities call a token.
func (r *reply) name(id int) string {
	if r.byID {
		return "token_id:" + strconv.Itoa(id)
	}
	return r.srv.cfg.Tokenizer.Piece(id)
}

// appendLogprobs appends a choice's logprobs in the dialect of the endpoint.
func (r *reply) appendLogprobs(b []byte, p part) []byte {
	b = append(b, `,"logprobs":`...)
	switch {
	case r.sched.Logprobs == nil:
		return append(b, "null"...)
	case r.chat:
		return r.appendChatLogprobs(b, p.logprobs)
	default:
		return r.appendLegacyLogprobs(b, p.logprobs)
	}
}

// appendChatLogprobs appends {"content":[{token, logprob, bytes, top_logprobs}]}.
// As in vLLM, top_logprobs holds the token itself first, then the likeliest,
// cut to the number asked for.
func (r *reply) appendChatLogprobs(b []byte, positions [][]sched.Logprob) []byte {
	b = append(b, `{"content":[`...)
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendCandidate(append(b, '{'), p[0])
		b = append(b, `,"top_logprobs":[`...)
		for k, c := range p[:min(r.top, len(p))] {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(r.appendCandidate(append(b, '{'), c), '}')
		}
		b = append(b, "]}"...)
	}
	return append(b, "]}"...)
}

// appendCandidate appends a candidate's fields. bytes are the token's own, as
// OpenAI defines them, so that a character of several tokens can be put
// together; vLLM gives those of the text, U+FFFD and all.
func (r *reply) appendCandidate(b []byte, c sched.Logprob) []byte {
	b = appendString(append(b, `"token":`...), r.name(c.Token))
	b = r.appendLogprob(append(b, `,"logprob":`...), c.Value)
	return appendInts(append(b, `,"bytes":`...), r.srv.cfg.Tokenizer.Bytes(c.Token))
}

// appendLegacyLogprobs appends the four parallel lists of completions.
// top_logprobs is keyed by text, so that tokens of equal text collide and the
// last one stays, as in vLLM; return_tokens_as_token_ids avoids that.
func (r *reply) appendLegacyLogprobs(b []byte, positions [][]sched.Logprob) []byte {
	b = append(b, `{"text_offset":[`...)
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(r.offset), 10)
		r.offset += utf8.RuneCountInString(r.name(p[0].Token))
	}
	b = append(b, `],"token_logprobs":[`...)
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendLogprob(b, p[0].Value)
	}
	b = append(b, `],"tokens":[`...)
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, r.name(p[0].Token))
	}
	b = append(b, `],"top_logprobs":[`...)
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendTop(b, p)
	}
	return append(b, "]}"...)
}

func (r *reply) appendTop(b []byte, p []sched.Logprob) []byte {
	names := make([]string, 0, len(p))
	values := make(map[string]float64, len(p))
	for _, c := range p {
		n := r.name(c.Token)
		if _, ok := values[n]; !ok {
			names = append(names, n)
		}
		values[n] = c.Value
	}
	b = append(b, '{')
	for i, n := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendLogprob(append(appendString(b, n), ':'), values[n])
	}
	return append(b, '}')
}

// appendPromptLogprobs appends a list of maps from token id to
// {logprob, rank, decoded_token}, the prompt's token first; null for the first
// position.
func (r *reply) appendPromptLogprobs(b []byte, positions [][]sched.Logprob) []byte {
	b = append(b, '[')
	for i, p := range positions {
		if i > 0 {
			b = append(b, ',')
		}
		if p == nil {
			b = append(b, "null"...)
			continue
		}
		b = append(b, '{')
		for k, c := range p {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(strconv.AppendInt(append(b, '"'), int64(c.Token), 10), `":{"logprob":`...)
			b = r.appendLogprob(b, c.Value)
			b = strconv.AppendInt(append(b, `,"rank":`...), int64(c.Rank), 10)
			b = append(appendString(append(b, `,"decoded_token":`...), r.srv.cfg.Tokenizer.Piece(c.Token)), '}')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
