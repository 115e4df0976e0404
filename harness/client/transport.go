package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// newTransport is tuned for more than a thousand streams at once.
func newTransport(connect time.Duration) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true) // HTTP/2 would put all streams behind one TCP window
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment, // never for localhost
		DialContext:         (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: connect,
		Protocols:           &http1,
		// Asking for gzip would make the raw bytes unreadable, and Go would
		// undo it behind our back.
		DisableCompression: true,
		// 0 is no limit: a request that waits for a connection inside the
		// client would be timed as if the server were slow.
		MaxConnsPerHost:     0,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: 8192,
		// uvicorn (vLLM, SGLang) and cpp-httplib (llama.cpp) close an idle
		// connection after 5 s. A request that meets that moment breaks
		// through nobody's fault, and is not retried: so be well below.
		IdleConnTimeout: 2 * time.Second,
	}
}

// request builds a request beside go-openai, with the same headers.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.root+path, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s%s: %w", method, c.root, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}

// recorder stands where go-openai expects its HTTP client. It sends the call's
// own body instead of go-openai's, whose types drop zeros, unknown fields,
// token ids and empty messages, and lets the call record what comes back.
type recorder struct{ http *http.Client }

type callKey struct{}

// Do implements openai.HTTPDoer.
func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return r.http.Do(req) // ListModels
	}
	body := c.x.Sent
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	// A stream has a connection of its own. llama-server closes the connection
	// after a stream without announcing it, now and then after the next request
	// is on its way (4 of 32 requests of a load were lost so, measured with
	// llama.cpp b1-0c1e570); that request would count as a failure of the server.
	// The price is a handshake a stream, which is part of its TTFT.
	req.Close = c.x.Request.Stream
	// net/http uses GetBody in one case only: a kept connection turned out to
	// be closed before a single byte of the request was written. For a POST
	// it never repeats what may have reached the server.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { c.watch.connected() },
	}))
	c.sent = true
	c.x.Timeline.Sent = time.Since(c.start)
	resp, err := r.http.Do(req)
	if err != nil {
		c.err = err
		return nil, err
	}
	c.header(resp)
	c.body = resp.Body
	resp.Body = &recordedBody{c, resp.Body}
	return resp, nil
}
