// Package engine finds out what a server is and what it can do, by asking it.
// The rest of Touchstone asks the Target that comes out of here and never
// switches on a server's name.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"touchstone/harness/exchange"
)

// Server is the part of the recording client that is needed here.
type Server interface {
	Do(ctx context.Context, r exchange.Request) *exchange.Exchange
	Get(ctx context.Context, path string) (status int, contentType string, body []byte, err error)
	Post(ctx context.Context, path string, body []byte) (status int, contentType string, reply []byte, err error)
	SetModel(id string)
}

// Kind says what went wrong in a way that decides the exit code.
type Kind int

// The kinds of failure.
const (
	Unreachable Kind = iota // no HTTP answer at all, or only 502/503
	Usage                   // the address, the key or the model name is wrong, or this is no OpenAI API
	Limited                 // 429: the key may not ask so much
)

// Error is why a target could not be asked. Hint says what to do.
type Error struct {
	Kind Kind
	Msg  string
	Hint string
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Hint + ")"
}

// Wait is how long the server may take until it generates.
type Wait struct {
	Limit    time.Duration // 0: one try
	Interval time.Duration // between tries
	Tell     func(string)  // told why it still waits, at each change; may be nil
}

// Find asks what the server is and can do. model may be empty when exactly one
// model is served. A server that answers but can't generate is not an error
// here: its generations become findings.
func Find(ctx context.Context, s Server, model string, w Wait) (exchange.Target, error) {
	m, err := awaitModel(ctx, s, model, w)
	if err != nil {
		return exchange.Target{}, err
	}
	s.SetModel(m.ID)
	t := exchange.Target{
		Model:        m.ID,
		VocabSize:    m.Meta.NVocab,
		MaxModelLen:  m.maxLen(),
		Capabilities: map[exchange.Capability]exchange.State{},
	}
	t.Engine, t.Version = identify(ctx, s, m)
	ask(ctx, s, &t)
	return t, ctx.Err() // questions that were interrupted say nothing about the server
}

// model is an entry of /v1/models, with the fields that servers add.
type model struct {
	ID          string `json:"id"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"` // vLLM, SGLang
	Meta        struct {
		NVocab    int `json:"n_vocab"` // llama.cpp
		NCtx      int `json:"n_ctx"`
		NCtxTrain int `json:"n_ctx_train"`
	} `json:"meta"`
}

func (m model) maxLen() int {
	for _, n := range []int{m.MaxModelLen, m.Meta.NCtx, m.Meta.NCtxTrain} {
		if n > 0 {
			return n
		}
	}
	return 0
}

// awaitModel returns the model to ask. With a time limit it tries again while
// the server is not there, is loading, or answers without generating: a health
// endpoint or a model list says nothing about that (vllm#51663).
func awaitModel(ctx context.Context, s Server, id string, w Wait) (model, error) {
	if w.Limit <= 0 {
		return findModel(ctx, s, id)
	}
	deadline := time.NewTimer(w.Limit)
	defer deadline.Stop()
	if w.Interval <= 0 {
		w.Interval = 2 * time.Second
	}
	tick := time.NewTicker(w.Interval)
	defer tick.Stop()
	last := ""
	for {
		m, err := findModel(ctx, s, id)
		if err == nil {
			s.SetModel(m.ID)
			if err = generates(ctx, s); err == nil {
				return m, nil
			}
		}
		var e *Error
		if errors.As(err, &e) && e.Kind == Usage {
			return model{}, err // waiting doesn't mend a wrong key
		}
		if msg := err.Error(); w.Tell != nil && msg != last {
			w.Tell(msg)
			last = msg
		}
		select {
		case <-ctx.Done():
			return model{}, ctx.Err()
		case <-deadline.C:
			return model{}, &Error{Unreachable, fmt.Sprintf("the server did not generate within %s: %v", w.Limit, err), "raise --wait, or look at the server's log"}
		case <-tick.C:
		}
	}
}

// generates says whether one token comes out.
func generates(ctx context.Context, s Server) error {
	x := s.Do(ctx, tiny(exchange.Chat, nil))
	if x.Status == http.StatusNotFound {
		x = s.Do(ctx, tiny(exchange.Completions, nil))
	}
	if x.Failure != nil {
		return &Error{Unreachable, "the server answers but doesn't generate yet: " + x.Failure.Error(), ""}
	}
	return nil
}

func findModel(ctx context.Context, s Server, id string) (model, error) {
	status, ctype, body, err := s.Get(ctx, "/v1/models")
	if err != nil {
		if ctx.Err() != nil {
			return model{}, ctx.Err()
		}
		return model{}, &Error{Unreachable, fmt.Sprintf("no HTTP answer: %v", err), "is the server running, and is the address right? --wait 30m waits for a model to load"}
	}
	if err := checkStatus(status, ctype, body); err != nil {
		return model{}, err
	}
	var list struct {
		Data []model `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Data) == 0 {
		return model{}, &Error{Usage, fmt.Sprintf("/v1/models is not an OpenAI model list: %s", excerpt(body)), "give the server's root or its /v1 address with --target"}
	}
	ids := make([]string, len(list.Data))
	for i, m := range list.Data {
		ids[i] = m.ID
		if m.ID == id {
			return m, nil
		}
	}
	sort.Strings(ids)
	switch {
	case id != "":
		return model{}, &Error{Usage, fmt.Sprintf("model %q is not served", id), "served: " + strings.Join(ids, ", ")}
	case len(ids) > 1:
		return model{}, &Error{Usage, "several models are served", "name one with --model: " + strings.Join(ids, ", ")}
	}
	return list.Data[0], nil
}

func checkStatus(status int, ctype string, body []byte) error {
	switch {
	case status == http.StatusOK && !strings.Contains(ctype, "html"):
		return nil
	case status == http.StatusOK:
		return &Error{Usage, "the target answers with a web page, not with an OpenAI API", "give the API's address, e.g. http://host:8000/v1"}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Error{Usage, fmt.Sprintf("HTTP %d: the server refuses the key", status), "set TOUCHSTONE_API_KEY or OPENAI_API_KEY, or give --api-key-file"}
	case status == http.StatusTooManyRequests:
		return &Error{Limited, "HTTP 429: the server refuses more requests for now", "wait, or lower --concurrency"}
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable:
		return &Error{Unreachable, fmt.Sprintf("HTTP %d: the server is not ready: %s", status, excerpt(body)), "--wait 30m waits for a model to load"}
	}
	return &Error{Usage, fmt.Sprintf("/v1/models answers HTTP %d: %s", status, excerpt(body)), "this is not an OpenAI API, or not its root"}
}

func excerpt(b []byte) string {
	const most = 120
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "\uFFFD")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if s == "" {
		return "(empty)"
	}
	return s
}

// identify names the engine, for people and for the record alone.
func identify(ctx context.Context, s Server, m model) (name, version string) {
	var v struct {
		Version   string `json:"version"`
		BuildInfo string `json:"build_info"`
	}
	get := func(path string) bool {
		status, _, body, err := s.Get(ctx, path)
		return err == nil && status == http.StatusOK && json.Unmarshal(body, &v) == nil
	}
	switch owner := strings.ToLower(m.OwnedBy); owner {
	case "vllm", "touchstone":
		get("/version")
		return owner, v.Version
	case "llamacpp":
		get("/props")
		return "llama.cpp", v.BuildInfo
	case "sglang":
		if !get("/server_info") {
			get("/get_server_info")
		}
		return "sglang", v.Version
	}
	// A proxy may hide who owns the model; the names of the metrics stay.
	switch metricsPrefix(ctx, s) {
	case "vllm":
		get("/version")
		return "vllm", v.Version
	case "sglang":
		return "sglang", ""
	case "llamacpp":
		get("/props")
		return "llama.cpp", v.BuildInfo
	}
	return "generic", ""
}
