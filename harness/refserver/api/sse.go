package api

import (
	"context"
	"net/http"

	"touchstone/harness/refserver/sched"
)

// streamed answers in server-sent events: one chunk a token, or one for several
// when they were already waiting. The headers go out with the first token, so
// that a request that fails before it still gets a status.
func (r *reply) streamed(ctx context.Context, w http.ResponseWriter) error {
	flush := http.NewResponseController(w).Flush
	var p part
	var out []sched.Output
	for r.text.finish == "" {
		b, err := r.stream.Next(ctx, out)
		if err != nil {
			return r.broken(ctx, w, err)
		}
		out = b.Outputs
		p.text, p.ids, p.logprobs = "", p.ids[:0], p.logprobs[:0]
		r.take(&p, b)
		r.buf = r.buf[:0]
		if !r.started {
			r.begin(w)
		}
		r.chunk(p)
		if r.text.finish != "" {
			r.end()
			r.book(nil)
		}
		r.started = true
		if _, err := w.Write(r.buf); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// begin sets the headers and, in chat, sends the chunk with the role alone.
func (r *reply) begin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	if !r.chat {
		return
	}
	b := r.open()
	b = append(b, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if r.running {
		count := r.text.count
		r.text.count = 0 // the role comes before the tokens
		b = r.appendUsage(append(b, ','), false)
		r.text.count = count
	}
	if r.tokenIDs {
		b = appendInts(append(b, `,"prompt_token_ids":`...), r.sched.Prompt)
	}
	r.close(b)
}

// chunk appends the event of a part.
func (r *reply) chunk(p part) {
	b := r.open()
	if r.chat {
		b = appendString(append(b, `{"index":0,"delta":{"content":`...), p.text)
		b = append(b, '}')
	} else {
		b = appendString(append(b, `{"index":0,"text":`...), p.text)
	}
	b = r.appendLogprobs(b, p)
	b = r.appendFinish(b)
	if r.tokenIDs {
		b = r.appendIDs(b, p.ids)
		if !r.chat && !r.started {
			b = appendInts(append(b, `,"prompt_token_ids":`...), r.sched.Prompt)
		}
	}
	b = append(b, "}]"...)
	if r.running {
		b = r.appendUsage(append(b, ','), false)
	}
	r.close(b)
}

// end appends the chunk of usage, without choices, and the terminator.
func (r *reply) end() {
	if r.usage {
		b := append(r.open(), "],"...)
		r.close(r.appendUsage(b, true))
	}
	r.buf = append(r.buf, "data: [DONE]\n\n"...)
}

func (r *reply) open() []byte { return append(append(r.buf, "data: "...), r.head...) }

func (r *reply) close(b []byte) { r.buf = append(b, "}\n\n"...) }

// broken reports an error in the middle of a stream the way vLLM does: as an
// event, then the terminator.
func (r *reply) broken(ctx context.Context, w http.ResponseWriter, err error) error {
	if !r.started {
		return r.failed(ctx, w, err)
	}
	if ctx.Err() == nil {
		w.Write(append(append([]byte("data: "), errorBody(toAPI(err))...), "\n\ndata: [DONE]\n\n"...))
	}
	return err
}
