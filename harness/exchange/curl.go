package exchange

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Curl returns a command that repeats the request in a POSIX shell. The server
// and the key stay variables: TOUCHSTONE_TARGET is the URL with or without
// /v1, and the key never stands in a report.
func Curl(r Request, model string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.Body(model)); err != nil {
		// Only a parameter that isn't JSON (NaN, a channel) gets here, and no
		// such request can have been sent.
		return "# " + r.ID + " can't be written as JSON: " + err.Error()
	}
	return curl(r, bytes.TrimSpace(buf.Bytes()))
}

// Curl returns a command that repeats the exchange with the very bytes that
// were sent; model is used only where those were not recorded.
func (e *Exchange) Curl(model string) string {
	if len(e.Sent) == 0 {
		return Curl(e.Request, model)
	}
	return curl(e.Request, e.Sent)
}

func curl(r Request, body []byte) string {
	flags := "-sS"
	if r.Stream {
		flags += "N"
	}
	return `curl ` + flags + ` "${TOUCHSTONE_TARGET%/v1}` + r.API.Path() + `"` +
		` -H 'Content-Type: application/json' -H "Authorization: Bearer $OPENAI_API_KEY"` +
		` -d ` + quote(string(body))
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
