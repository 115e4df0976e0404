package exchange

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzDecode: no bytes make it panic, the chunks add up to the text, and the
// way in which the bytes were read changes nothing but times.
func FuzzDecode(f *testing.F) {
	for _, raw := range []string{
		sse(`{"choices":[{"index":0,"text":"a","token_ids":[1]}]}`, `{"choices":[{"index":0,"delta":{"reasoning":"r","content":null},"finish_reason":"stop"}]}`),
		`{"choices":[{"index":0,"message":{"content":"x"},"logprobs":{"content":[{"token":"token_id:3","logprob":NaN,"top_logprobs":[{"token":"b","logprob":-Infinity}]}]}}]}`,
		`{"choices":[{"index":0,"text":"x","prompt_logprobs":[null,{"7":{"logprob":-1}}]}]}`,
		`{"count":1,"tokens":[1]}`, `<html>`, "\ufeffdata: {\"error\":1}\r\rdata", `{"error":{"message":{"error":1}}}`, "event: error\ndata", "{", "data: {\n\ndata: [DONE]",
	} {
		f.Add(uint8(0), true, 200, "text/event-stream", raw, 3)
		f.Add(uint8(1), false, 200, "application/json", raw, 0)
		f.Add(uint8(2), false, 500, "", raw, 1)
	}
	apis := []API{Chat, Completions, Tokenize}
	f.Fuzz(func(t *testing.T, api uint8, stream bool, status int, ctype, raw string, cut int) {
		e := ok(apis[int(api)%len(apis)], stream, raw)
		e.Status, e.ContentType = status, ctype
		r, _ := Decode(e)
		var text, reasoning strings.Builder
		for _, c := range r.Chunks {
			text.WriteString(c.Text)
			reasoning.WriteString(c.Reasoning)
		}
		if len(r.Chunks) > 0 && (text.String() != r.Text || reasoning.String() != r.Reasoning) {
			t.Errorf("chunks add up to %q and %q, the reply says %q and %q", &text, &reasoning, r.Text, r.Reasoning)
		}
		if cut < 0 || cut > len(raw) {
			return
		}
		e.Timeline.Reads = []Read{{At: 1, N: cut}, {At: 2, N: len(raw) - cut}}
		again, _ := Decode(e)
		var last time.Duration
		for i := range again.Chunks {
			if again.Chunks[i].At < last {
				t.Error("times go back")
			}
			last = again.Chunks[i].At
			again.Chunks[i].At = time.Second
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Errorf("split at %d\n%s", cut, d)
		}
	})
}
