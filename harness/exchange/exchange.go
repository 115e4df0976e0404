// Package exchange holds what was asked of a server and what came back: the
// request, the raw bytes of the reply with the time of every read, and the
// run folder in which they are kept. Everything that judges a build starts
// from here and needs no network.
package exchange

import (
	"encoding/json"
	"time"
)

// Schema is the version of the run folder and of everything in it. A reader
// refuses a folder of another version and names both.
const Schema = 1

// API names the endpoint that a request goes to.
type API string

// The endpoints that Touchstone asks.
const (
	Chat        API = "chat"        // POST /v1/chat/completions
	Completions API = "completions" // POST /v1/completions
	Tokenize    API = "tokenize"    // POST /tokenize
)

// Path returns the URL path of the endpoint, below the server's root.
func (a API) Path() string {
	switch a {
	case Chat:
		return "/v1/chat/completions"
	case Completions:
		return "/v1/completions"
	case Tokenize:
		return "/tokenize"
	}
	return "/" + string(a)
}

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role" yaml:"role"`
	Content string `json:"content" yaml:"content"`
}

// Request is one planned request. ID is unique within a run and the same in
// every run of the same plan ("anchors/capital-norway"), so that a baseline's
// answer is found by it.
type Request struct {
	ID        string    `json:"id"`
	Probe     string    `json:"probe"`
	Case      string    `json:"case"` // the prompt's id in the fixtures
	API       API       `json:"api"`
	Messages  []Message `json:"messages,omitempty"`   // chat
	Prompt    string    `json:"prompt,omitempty"`     // completions, tokenize
	PromptIDs []int     `json:"prompt_ids,omitempty"` // completions with token ids, instead of Prompt
	Stream    bool      `json:"stream,omitempty"`
	// Params are all other fields of the body, as they go on the wire. A
	// temperature of 0 stands here as 0 and is sent as 0.
	Params map[string]any `json:"params,omitempty"`
}

// Body returns the JSON object that is sent for model. It is what `curl -d`
// needs to repeat the request.
func (r Request) Body(model string) map[string]any {
	b := make(map[string]any, len(r.Params)+4)
	for k, v := range r.Params {
		b[k] = v
	}
	if model != "" {
		b["model"] = model
	}
	switch {
	case r.API == Chat || len(r.Messages) > 0:
		b["messages"] = r.Messages
	case r.PromptIDs != nil:
		b["prompt"] = r.PromptIDs
	case r.API == Tokenize && r.Prompt == "":
		// The text stands in Params, under the name that this server wants.
	default:
		b["prompt"] = r.Prompt
	}
	if r.Stream {
		b["stream"] = true
	}
	return b
}

// Read is one read of the reply's body: N bytes were there At after Start.
type Read struct {
	At time.Duration `json:"at"`
	N  int           `json:"n"`
}

// Timeline says when what happened. Durations count from Start.
type Timeline struct {
	Start  time.Time     `json:"start"`            // the intended send time
	Sent   time.Duration `json:"sent"`             // when the request was handed to the transport; minus 0 is the client's own lag
	Header time.Duration `json:"header,omitempty"` // status line and headers were there
	Reads  []Read        `json:"reads,omitempty"`  // every read of the body
	End    time.Duration `json:"end"`              // last byte, or the failure
}

// Class says how a request failed, as seen from the client. The empty class
// is a reply that was read to its end.
type Class string

// The classes of failure.
const (
	Refused       Class = "refused"        // no connection
	HTTPStatus    Class = "http"           // a status of 400 or more
	TimeoutHeader Class = "timeout-header" // connected, no status line in time
	TimeoutFirst  Class = "timeout-first"  // headers, then no first token in time
	TimeoutStall  Class = "timeout-stall"  // tokens, then silence
	TimeoutTotal  Class = "timeout-total"  // the whole request took too long
	Dropped       Class = "dropped"        // the connection broke in the middle
	Truncated     Class = "truncated"      // the stream ended without [DONE] or finish_reason
	Malformed     Class = "malformed"      // HTTP 200 that is no reply: HTML, an error object, no choices, broken JSON
	Cancelled     Class = "cancelled"      // interrupted by the user
)

// Failure is why an exchange holds no complete reply.
type Failure struct {
	Class  Class  `json:"class"`
	Detail string `json:"detail"`
}

func (f *Failure) Error() string { return string(f.Class) + ": " + f.Detail }

// Exchange is one request and all that came back for it.
type Exchange struct {
	Request     Request         `json:"request"`
	Sent        json.RawMessage `json:"sent,omitempty"` // the body exactly as it went on the wire
	Status      int             `json:"status"`
	ContentType string          `json:"content_type,omitempty"`
	Raw         Bytes           `json:"raw,omitempty"` // the body exactly as it came
	Timeline    Timeline        `json:"timeline"`
	Failure     *Failure        `json:"failure,omitempty"`
}
