package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"touchstone/harness/refserver/sched"
)

// A token that completes no character yet has no text, but tells its id in a
// chunk of its own; the text comes with the last of them.
func TestIncompleteCharactersKeepTheirIDs(t *testing.T) {
	tok := tinyTokenizer(t)
	ids := tok.Encode("龍", false, false)
	if len(ids) < 2 {
		t.Fatalf("the character is one token, %v: the case tests nothing", ids)
	}
	s := &Server{cfg: Config{Tokenizer: tok, ModelName: "m"}, metrics: newMetrics(nil, "m")}
	for _, chat := range []bool{false, true} {
		r := &reply{srv: s, stream: &sched.Stream{}, text: assembler{detok: tok.NewDetokenizer()}, started: true,
			job: &job{chat: chat, stream: true, tokenIDs: true}}
		r.head = s.head(r.job, "")
		for i, id := range ids {
			var p part
			r.take(&p, sched.Batch{Outputs: []sched.Output{{Token: id, At: time.Unix(1, 0)}}})
			r.buf = r.buf[:0]
			r.chunk(p)
			var e struct {
				Choices []struct {
					Text  string
					Delta struct{ Content string }
					IDs   []int `json:"token_ids"`
				}
			}
			if err := json.Unmarshal([]byte(strings.TrimPrefix(string(r.buf), "data: ")), &e); err != nil {
				t.Fatalf("%v in %s", err, r.buf)
			}
			want := ""
			if i == len(ids)-1 {
				want = "龍"
			}
			if c := e.Choices[0]; c.Text+c.Delta.Content != want || !slices.Equal(c.IDs, []int{id}) {
				t.Errorf("chat %v, token %d of %d: %+v, want text %q and id %d", chat, i, len(ids), c, want, id)
			}
		}
	}
}
