package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"touchstone/harness/exchange"
)

// Do sends one request now and returns all that came back.
func (c *Client) Do(ctx context.Context, r exchange.Request) *exchange.Exchange {
	return c.DoAt(ctx, time.Now(), r)
}

// DoAt is Do for a request that was meant to go out at the time intended,
// which may lie in the past: then Timeline.Sent shows how late the client
// was. intended must come from time.Now, so that it has a monotonic reading.
func (c *Client) DoAt(ctx context.Context, intended time.Time, r exchange.Request) *exchange.Exchange {
	x := &exchange.Exchange{Request: r}
	x.Timeline.Start = intended
	sent, err := encode(r.Body(c.Model()))
	if err != nil {
		x.Timeline.End = time.Since(intended)
		x.Failure = &exchange.Failure{Class: exchange.Malformed,
			Detail: fmt.Sprintf("not sent: request %s can't be written as JSON: %v", r.ID, err)}
		return x
	}
	x.Sent = sent
	call := newCall(ctx, c, x)
	defer call.release()
	call.exchange()
	return x
}

// encode writes JSON as it goes on the wire.
func encode(body map[string]any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// call is one request under way.
type call struct {
	client *Client
	x      *exchange.Exchange
	start  time.Time
	outer  context.Context // the caller's
	ctx    context.Context
	stop   context.CancelFunc
	watch  *watch

	sent bool           // handed to the transport
	err  error          // the transport's
	resp *http.Response // its body is recorded
	body io.Closer      // the body below the recorder
	note string         // what the headers add to a failure
	last error          // of the body: io.EOF at its end

	mu    sync.Mutex // raw and reads: the watch looks at them from its timer
	raw   []byte
	reads []exchange.Read
}

func newCall(ctx context.Context, client *Client, x *exchange.Exchange) *call {
	c := &call{client: client, x: x, start: x.Timeline.Start, outer: ctx}
	limits := client.limits
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	over := &limitError{exchange.TimeoutTotal, fmt.Sprintf("not complete within %s", limits.Total)}
	c.ctx, c.stop = context.WithTimeoutCause(ctx, limits.Total, over)
	c.watch = &watch{
		limits:   limits,
		streamed: x.Request.Stream,
		now:      func() time.Duration { return time.Since(c.start) },
		token:    c.lastToken,
		cancel:   cancel,
	}
	return c
}

// release frees what the call holds. Closing an unread body ends its
// connection, and with it the work of the server.
func (c *call) release() {
	c.watch.end()
	if c.body != nil {
		c.body.Close() //nolint:errcheck,gosec // it was only read
	}
	c.stop()
	c.watch.cancel(context.Canceled)
}

// lastToken returns when the last token so far came. A reply in one piece
// has no tokens until it is whole: there, bytes count.
func (c *call) lastToken() (at time.Duration, ok bool) {
	c.mu.Lock()
	raw, reads := c.raw, c.reads // both only grow, so that these stay as they are
	c.mu.Unlock()
	if !c.x.Request.Stream {
		if len(reads) == 0 {
			return 0, false
		}
		return reads[len(reads)-1].At, true
	}
	sofar := &exchange.Exchange{Request: c.x.Request, Status: c.x.Status, ContentType: c.x.ContentType, Raw: raw}
	sofar.Timeline.Reads = reads
	reply, _ := exchange.Decode(sofar)
	if n := len(reply.Chunks); n > 0 {
		return reply.Chunks[n-1].At, true
	}
	return 0, false
}

// exchange sends, reads to the end and says what went wrong.
func (c *call) exchange() {
	err := c.ask()
	c.drain()
	x := c.x
	x.Raw, x.Timeline.Reads = c.raw, c.reads
	x.Timeline.End = time.Since(c.start)
	x.Failure = c.failure(err)
	if n := len(c.reads); x.Failure == nil && n > 0 {
		x.Timeline.End = c.reads[n-1].At
	}
	if x.Failure == nil {
		x.Failure = exchange.Check(x)
	}
	if f := x.Failure; f != nil {
		if f.Class == exchange.HTTPStatus {
			f.Detail += c.note
		}
		f.Detail = c.client.mask(f.Detail)
	}
	x.Raw = c.client.maskBytes(x.Raw)
}

// neutral is a model name that go-openai has no opinion on: it refuses some
// requests by the model's name before it sends anything. What goes out is the
// exchange's own body with the true name.
const neutral = "touchstone"

// ask goes through go-openai. Its replies and its view of them are dropped:
// the recorded bytes are decoded later, by exchange.Decode.
func (c *call) ask() error {
	api := c.client.openai
	chat := openai.ChatCompletionRequest{Model: neutral}
	completion := openai.CompletionRequest{Model: neutral, Prompt: ""}
	switch r := c.x.Request; {
	case r.API == exchange.Chat && r.Stream:
		s, err := api.CreateChatCompletionStream(c.ctx, chat)
		return c.drainLines(s, err)
	case r.API == exchange.Chat:
		_, err := api.CreateChatCompletion(c.ctx, chat)
		return err
	case r.API == exchange.Completions && r.Stream:
		s, err := api.CreateCompletionStream(c.ctx, completion)
		return c.drainLines(s, err)
	case r.API == exchange.Completions:
		_, err := api.CreateCompletion(c.ctx, completion)
		return err
	default: // go-openai knows no /tokenize
		req, err := c.client.request(c.ctx, http.MethodPost, r.API.Path(), c.x.Sent)
		if err != nil {
			return err
		}
		_, err = (&recorder{http: c.client.http}).Do(req) //nolint:bodyclose // release does
		return err
	}
}

// rawStream is both of go-openai's streams.
type rawStream interface{ RecvRaw() ([]byte, error) }

func (c *call) drainLines(s rawStream, err error) error {
	for err == nil {
		_, err = s.RecvRaw()
	}
	return err
}

// drain reads what go-openai left: it stops at [DONE], at the first error
// object, and after one JSON value.
func (c *call) drain() {
	if c.resp == nil || c.last != nil {
		return
	}
	if bytes.Contains(tail(c.raw, 64), []byte("[DONE]")) {
		c.watch.linger()
	}
	io.Copy(io.Discard, c.resp.Body) //nolint:errcheck,gosec // its error is kept in last
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// header notes the status line and the headers that a failure needs.
func (c *call) header(resp *http.Response) {
	x := c.x
	x.Timeline.Header = time.Since(c.start)
	x.Status = resp.StatusCode
	x.ContentType = c.client.mask(resp.Header.Get("Content-Type"))
	for _, h := range []string{"Retry-After", "Location", "Www-Authenticate"} {
		if v := resp.Header.Get(h); v != "" {
			c.note += fmt.Sprintf(" (%s: %s)", h, v)
		}
	}
	c.resp = resp
	c.watch.header()
}

// recordedBody records each read of a reply.
type recordedBody struct {
	c *call
	r io.ReadCloser
}

// Read is the hot path: one stamp, one copy, no decoding.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	c := b.c
	if n > 0 {
		at := time.Since(c.start)
		c.mu.Lock()
		c.raw = append(c.raw, p[:n]...)
		c.reads = append(c.reads, exchange.Read{At: at, N: n})
		c.mu.Unlock()
	}
	if err != nil {
		c.last = err
	}
	return n, err
}

// Close does nothing: go-openai closes a body after its first JSON value, and
// what follows, if only the end of the last chunk, must still be read. The
// connection is let go by release.
func (b *recordedBody) Close() error { return nil }

// failure is what the connection and the clock say; nil when the whole body
// was read, or all of it up to [DONE]. err is go-openai's view, which counts
// only when it sent nothing.
func (c *call) failure(err error) *exchange.Failure {
	fail := func(class exchange.Class, detail string) *exchange.Failure {
		return &exchange.Failure{Class: class, Detail: detail}
	}
	if errors.Is(c.last, io.EOF) {
		return nil
	}
	if c.watch.in() == lingering {
		return nil // all was said; how the connection ended changes nothing
	}
	var limit *limitError
	switch {
	case errors.As(context.Cause(c.ctx), &limit):
		if limit.class == exchange.TimeoutTotal && c.watch.in() == awaitingHeader {
			return fail(exchange.TimeoutHeader, "connected, but no status line and "+limit.detail)
		}
		return fail(limit.class, limit.detail)
	case c.outer.Err() != nil && errors.Is(c.outer.Err(), context.DeadlineExceeded):
		return fail(exchange.TimeoutTotal, "the caller's time limit ended the request")
	case c.outer.Err() != nil:
		return fail(exchange.Cancelled, "interrupted")
	case !c.sent:
		return fail(exchange.Malformed, fmt.Sprintf("not sent: %v", err))
	case c.resp == nil:
		return c.noAnswer(c.err)
	default:
		return fail(exchange.Dropped, fmt.Sprintf("the connection broke after %d bytes of the body: %v", len(c.raw), c.last))
	}
}

// noAnswer classes an error before the status line.
func (c *call) noAnswer(err error) *exchange.Failure {
	what := reason(err)
	var op *net.OpError
	if c.watch.in() == connecting || errors.As(err, &op) && op.Op == "dial" {
		hint := ""
		var slow net.Error
		switch {
		case errors.As(err, &slow) && slow.Timeout():
			what = fmt.Sprintf("no connection within %s: %s", c.client.limits.Connect, what)
		case strings.Contains(what, "too many open files"):
			hint = " (raise the limit with ulimit -n, or lower --concurrency)"
		case strings.Contains(what, "server gave HTTP response to HTTPS client"):
			hint = " (write http:// instead of https://)"
		}
		return &exchange.Failure{Class: exchange.Refused, Detail: what + hint}
	}
	if strings.Contains(what, "malformed HTTP") {
		return &exchange.Failure{Class: exchange.Malformed, Detail: "the answer is no HTTP: " + what}
	}
	return &exchange.Failure{Class: exchange.Dropped, Detail: "the connection broke before the status line: " + what}
}
