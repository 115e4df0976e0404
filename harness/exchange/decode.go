package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Decode reads an exchange's raw bytes. It always returns what could be read,
// and beside it why that is not a complete reply, or nil. A failure that the
// client recorded (no connection, a time-out) goes before what the bytes show.
//
// What it decides, where servers leave room:
//   - Text, tokens and ids are those of the choice with index 0; the others
//     are only counted.
//   - A log-probability that is null or NaN is nil. The sentinels for minus
//     infinity (-9999, -3.4028235e38) are nil with Censored set: no number, but
//     no NaN either.
//   - Token ids come from token_ids; a server that never sends those but names
//     an id in every log-probability entry (llama.cpp) has told them as well.
//   - A token named "token_id:N" gets that id and an empty text.
//   - The prompt's own token at a position is found by prompt_token_ids, else by
//     the ids that were sent, else it is the first one listed (vLLM's order).
func Decode(e *Exchange) (*Reply, *Failure) {
	d := decoder{reply: &Reply{}, request: &e.Request, clock: newClock(e.Timeline), choices: map[int]bool{}}
	f := d.decode(e)
	if e.Failure != nil {
		f = e.Failure
	}
	return d.reply, f
}

type decoder struct {
	reply       *Reply
	request     *Request
	clock       clock
	streamed    bool
	choices     map[int]bool // choice index -> finish_reason seen
	explicitIDs bool         // token_ids were there
	derived     []int        // chunks whose ids come from log-probability entries
	positions   wirePromptPositions
	failure     *Failure // the first thing that was wrong
}

// fail keeps the first failure: what follows is mostly its consequence.
func (d *decoder) fail(c Class, format string, args ...any) {
	if d.failure == nil {
		d.failure = &Failure{Class: c, Detail: fmt.Sprintf(format, args...)}
	}
}

func (d *decoder) decode(e *Exchange) *Failure {
	raw := bytes.TrimPrefix(e.Raw, bom)
	switch {
	case e.Status == 0:
		return &Failure{Class: Malformed, Detail: "no HTTP status was recorded"}
	case e.Status < 200 || e.Status >= 300:
		return StatusFailure(e.Status, raw)
	case isHTML(e.ContentType, raw):
		return &Failure{Class: Malformed, Detail: fmt.Sprintf("HTTP %d with HTML instead of JSON: %s", e.Status, excerpt(raw))}
	}
	if e.Request.API == Tokenize {
		d.tokenize(raw)
		return d.failure
	}
	d.streamed = isSSE(e.ContentType, raw)
	if d.streamed {
		d.stream(e.Raw)
		if !e.Request.Stream {
			d.fail(Malformed, "asked for one JSON object, got a stream")
		}
	} else {
		d.whole(raw)
		if e.Request.Stream {
			d.fail(Malformed, "asked for a stream, got one JSON object: %s", excerpt(raw))
		}
	}
	d.finish()
	return d.failure
}

// isHTML trusts the body over the header: a proxy's error page comes under
// any type.
func isHTML(contentType string, raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("<")) ||
		strings.HasPrefix(contentType, "text/html")
}

func isSSE(contentType string, raw []byte) bool {
	head := bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("{")):
		return false
	case strings.HasPrefix(contentType, "text/event-stream"):
		return true
	}
	for _, p := range []string{"data:", "event:", "error:", "id:", ":"} {
		if bytes.HasPrefix(head, []byte(p)) {
			return true
		}
	}
	return false
}

// whole decodes a reply that is one JSON object.
func (d *decoder) whole(raw []byte) {
	if len(bytes.TrimSpace(raw)) == 0 {
		d.fail(Malformed, "the body is empty")
		return
	}
	var o wireObject
	if err := unmarshal(raw, &o); err != nil {
		d.broken(raw, err, true)
		if o.Choices == nil {
			return
		}
	} else {
		d.reply.Done = true
	}
	if d.object(&o, 0) && len(o.Choices) == 0 {
		d.fail(Malformed, "no choices in %s", excerpt(raw))
	}
}

// stream decodes server-sent events.
func (d *decoder) stream(raw []byte) {
	events := 0
	scanSSE(raw, func(ev event) {
		events++
		if d.reply.Done {
			d.fail(Malformed, "data after [DONE]: %s", excerpt(ev.data()))
			return
		}
		d.event(&ev)
	})
	switch {
	case d.failure != nil:
	case events == 0:
		d.fail(Malformed, "the stream held no event: %s", excerpt(raw))
	case !d.reply.Done && len(d.choices) == 0:
		d.fail(Truncated, "the stream ended before anything came")
	case !d.reply.Done:
		d.fail(Truncated, "the stream ended without [DONE] after %d events", events)
	case len(d.choices) == 0:
		d.fail(Malformed, "the stream held no choices")
	}
	for i, finished := range d.choices {
		if !finished {
			d.fail(Truncated, "[DONE] without finish_reason for choice %d", i)
		}
	}
}

func (d *decoder) event(ev *event) {
	data := bytes.TrimSpace(ev.data())
	switch {
	case len(data) == 0, ev.name == "ping":
		return
	case string(data) == "[DONE]":
		d.reply.Done = true
		return
	case ev.name == "error":
		d.fail(Malformed, "error in the stream: %s", errorText(data))
		return
	}
	var o wireObject
	err := unmarshal(data, &o)
	if err != nil && len(ev.lines) > 1 {
		// Not the standard's multi-line data, but events without the blank
		// line between them, which go-openai and others accept.
		for _, line := range ev.lines {
			d.event(&event{lines: [][]byte{line}, end: ev.end, cut: ev.cut})
		}
		return
	}
	if err != nil {
		d.broken(data, err, ev.cut)
		if o.Choices == nil {
			return
		}
	}
	if ev.bare && err == nil && len(o.Choices) > 0 {
		d.fail(Malformed, "a line without \"data:\" in the stream: %s", excerpt(data))
	}
	d.object(&o, ev.end)
}

// cutJSON is how encoding/json reports that bytes are missing, and nothing
// else: a wrong last byte has the same offset.
const cutJSON = "unexpected end of JSON input"

// broken classes a JSON error: cut off at the end of the body, or wrong.
func (d *decoder) broken(data []byte, err error, last bool) {
	var syntax *json.SyntaxError
	if last && errors.As(err, &syntax) && syntax.Error() == cutJSON {
		d.fail(Truncated, "the body ends in the middle of JSON: …%s", excerptEnd(data))
		return
	}
	d.fail(Malformed, "%v in %s", err, excerpt(data))
}

// finish makes the reply whole once everything was read.
func (d *decoder) finish() {
	r := d.reply
	r.Choices = len(d.choices)
	if _, ok := d.choices[0]; !ok && r.Choices > 0 {
		d.fail(Malformed, "no choice has index 0")
	}
	d.settleIDs()
	r.Prompt = d.prompt()
}

// StatusFailure is the failure of a status that is no success, with what the
// server said about it.
func StatusFailure(status int, raw []byte) *Failure {
	what := errorText(raw)
	if isHTML("", raw) {
		what = "HTML: " + excerpt(raw)
	}
	if what == "" {
		what = "empty body"
	}
	return &Failure{Class: HTTPStatus, Detail: fmt.Sprintf("HTTP %d: %s", status, what)}
}

// errorText finds the message in the shapes that servers give errors, else it
// is the beginning of the body.
func errorText(raw []byte) string {
	var o struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(raw, &o) == nil {
		for _, m := range []json.RawMessage{o.Error, o.Message, o.Detail} {
			if len(m) == 0 || string(m) == "null" {
				continue
			}
			var s string
			if json.Unmarshal(m, &s) == nil {
				return excerpt([]byte(s))
			}
			return errorText(m)
		}
	}
	return excerpt(raw)
}

const excerptLen = 200 // bytes: enough for a message, little enough for a table

func excerpt(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) <= excerptLen {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	cut := excerptLen
	for cut > 0 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return strings.ToValidUTF8(string(b[:cut]), "\uFFFD") + "…"
}

func excerptEnd(b []byte) string {
	if len(b) > 60 {
		b = b[len(b)-60:]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// clock tells when a byte of the body was there.
type clock struct {
	reads []Read
	end   time.Duration
	next  int // the read that the last answer came from
	sum   int // bytes before it
}

func newClock(t Timeline) clock { return clock{reads: t.Reads, end: t.End} }

// at returns the time of the read that brought the byte before offset. Offsets
// must not sink from call to call. Without reads it is the end of the exchange.
func (c *clock) at(offset int) time.Duration {
	for ; c.next < len(c.reads); c.next++ {
		r := c.reads[c.next]
		if c.sum+r.N >= offset {
			return r.At
		}
		c.sum += r.N
	}
	if n := len(c.reads); n > 0 {
		return c.reads[n-1].At
	}
	return c.end
}
