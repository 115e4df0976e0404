// Package client asks a server and records what comes back: go-openai over a
// transport of ours that sends the exact body, keeps every byte, notes when
// each read returned, and gives each phase of a request its own time limit.
//
// Nothing is decoded while a reply is being timed, nothing is ever asked
// twice, and no call returns an error: how a request failed stands in its
// exchange, where it can be judged.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Timeouts are the limits of a request's phases. Zero takes the default, a
// negative value switches a limit off.
type Timeouts struct {
	Connect    time.Duration // to a connection, TLS included; default 10 s
	Header     time.Duration // from the connection to the status line of a stream; default 2 min
	FirstToken time.Duration // from the status line to the first token; default 2 min
	Stall      time.Duration // from one token to the next; default 1 min
	// Total limits the whole request; default 10 min. It is also what limits
	// the wait for the status line of a reply that isn't streamed, because
	// servers send that when the last token is there.
	Total time.Duration
}

// never is longer than any run.
const never = 10 * 365 * 24 * time.Hour

func (t Timeouts) withDefaults() Timeouts {
	for _, f := range []struct {
		d   *time.Duration
		def time.Duration
	}{
		{&t.Connect, 10 * time.Second},
		{&t.Header, 2 * time.Minute},
		{&t.FirstToken, 2 * time.Minute},
		{&t.Stall, time.Minute},
		{&t.Total, 10 * time.Minute},
	} {
		switch {
		case *f.d == 0:
			*f.d = f.def
		case *f.d < 0:
			*f.d = never
		}
	}
	return t
}

// Options say whom to ask and how long to wait.
type Options struct {
	BaseURL  string // with or without /v1
	APIKey   string // empty: none is sent
	Model    string // may be set later by SetModel
	Timeouts Timeouts
}

// Client asks one server. It may be used by many goroutines.
type Client struct {
	root   string
	key    string
	model  atomic.Pointer[string]
	limits Timeouts
	http   *http.Client
	openai *openai.Client
}

// New makes a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	root, err := rootOf(o.BaseURL)
	if err != nil {
		return nil, err
	}
	limits := o.Timeouts.withDefaults()
	c := &Client{root: root, key: o.APIKey, limits: limits}
	c.http = &http.Client{
		Transport: newTransport(limits.Connect),
		// A redirected request would be sent a second time, to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	cfg := openai.DefaultConfig(o.APIKey)
	cfg.BaseURL = root + "/v1"
	cfg.HTTPClient = &recorder{http: c.http}
	// Each SSE comment counts as an empty message, and the default of 300 ends
	// a stream with 151 pings before its first token. The stall limit is ours.
	cfg.EmptyMessagesLimit = math.MaxInt
	c.openai = openai.NewClientWithConfig(cfg)
	c.SetModel(o.Model)
	return c, nil
}

// rootOf returns the server's root: scheme, host and path, without /v1.
func rootOf(base string) (string, error) {
	base = strings.TrimSpace(base)
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("target %q %s: write it as http://HOST:PORT or http://HOST:PORT/v1", base, why)
	}
	if base == "" {
		return bad("is empty")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil && !strings.Contains(base, "://"):
		return bad("has no http:// or https://")
	case err != nil:
		return bad("is no URL")
	case u.User != nil:
		return "", errors.New("the target holds a user or password: take it out and give the key by TOUCHSTONE_API_KEY, it would be recorded otherwise")
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("has no http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return bad("names no host")
	case u.RawQuery != "" || u.Fragment != "":
		return bad("has a query or a fragment")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/completions"):
		return bad("names an endpoint instead of the server")
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return u.Scheme + "://" + u.Host + path, nil
}

// Root returns the server's URL without /v1 and without a slash at the end.
func (c *Client) Root() string { return c.root }

// Model returns the model that requests name.
func (c *Client) Model() string { return *c.model.Load() }

// SetModel sets the model that later requests name.
func (c *Client) SetModel(id string) { c.model.Store(&id) }

// CloseIdle closes connections that nobody uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Get asks a path below the server's root ("/v1/models", "/health") and
// returns the answer whatever its status. An error means that there was none.
func (c *Client) Get(ctx context.Context, path string) (status int, contentType string, body []byte, err error) {
	return c.plain(ctx, http.MethodGet, path, nil)
}

// Post is Get with a JSON body.
func (c *Client) Post(ctx context.Context, path string, body []byte) (status int, contentType string, reply []byte, err error) {
	return c.plain(ctx, http.MethodPost, path, body)
}

// Models lists the ids of the models that are served.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.limits.Header, c.limits.Total))
	defer cancel()
	list, err := c.openai.ListModels(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s/v1/models: %s", c.root, c.mask(err.Error()))
	}
	var ids []string
	for _, m := range list.Models {
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s/v1/models lists no model: is this an OpenAI-compatible server, and has it loaded its model?", c.root)
	}
	return ids, nil
}

// maxPlain limits what Get and Post read: /metrics of a big server has a few
// MB, and an endless body must not fill the memory.
const maxPlain = 64 << 20 // bytes

func (c *Client) plain(ctx context.Context, method, path string, body []byte) (int, string, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, min(c.limits.Header, c.limits.Total))
	defer cancel()
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return 0, "", nil, err
	}
	fail := func(err error) (int, string, []byte, error) {
		return 0, "", nil, fmt.Errorf("%s %s%s: %s", method, c.root, path, c.mask(reason(err)))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxPlain+1))
	if err != nil {
		return fail(err)
	}
	if len(reply) > maxPlain {
		return fail(fmt.Errorf("the body is longer than %d bytes", maxPlain))
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), c.maskBytes(reply), nil
}

// reason is an error's text without the method and URL that *url.Error
// repeats.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
