//go:build engines

package suites

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"touchstone/fixtures"
	"touchstone/harness/client"
	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/parity"
	"touchstone/harness/refserver"
	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/token"
)

const (
	// sameTokens is how many tokens are generated for a prompt, sameTop how many
	// candidates are asked for at each position.
	sameTokens, sameTop = 32, 5
	// apart16 and apart32 are how far the log-probabilities of one token after
	// the same tokens may be apart, in nats: where an engine rounds keys and
	// values to float16, and where both compute in float32 throughout (what the
	// reference server is held to beside transformers, in its TestTruthOverHTTP).
	// With float16 the candidates are shown only: unlikely ones move by more, and
	// the same engine in float32 shows that float16 is why.
	apart16, apart32 = 0.02, 1e-3
)

// samePrompts are requests of the recorded baseline, whose prompts go to each
// engine as token ids, so that templates and tokenizers stay out of it: prose
// and code in which the model is unsure in places (a likeliest token of 15 %),
// JSON, a copy, and a needle in 209 tokens, which spans many cache blocks.
var samePrompts = []string{
	"coherence/guide-founding", "coherence/story-harbour-town", "coherence/story-poem-sea", "coherence/code-continue",
	"anchors/code-two-numbers", "anchors/json-mia", "anchors/copy-words-twenty", "anchors/needle-24-middle",
}

// sameEngine is an engine with the tiny model, and what it said.
type sameEngine struct {
	name    string
	url     string
	half    bool // keys and values are float16
	replies map[string]*exchange.Reply
}

// TestVLLMLlamaSameNumbers asks one model on three engines the same, and holds
// their log-probabilities against each other at each position. llama-server's
// flash attention rounds keys and values to float16, whatever the type of the
// cache; without it, and with a cache of float32, it is held to float32 too.
func TestVLLMLlamaSameNumbers(t *testing.T) {
	plan := samePlan(t)
	cpp := llama("llama-server", tinyFile(t))
	engines := []sameEngine{
		{name: "reference server", url: reference(t)},
		{name: "vLLM", url: start(t, vllm("vLLM", "tiny"), variant{})},
		{name: "llama-server", url: start(t, cpp, variant{}), half: true},
		{name: "llama-server, all float32", url: start(t, cpp, variant{flags: []string{"-fa", "off", "-ctk", "f32", "-ctv", "f32"}})},
	}
	for i := range engines {
		engines[i].ask(t, plan)
	}
	table := "| pair | positions | compared | largest difference, nats | limit | where |\n|---|---|---|---|---|---|\n"
	for i, x := range engines {
		for _, y := range engines[i+1:] {
			if strings.HasPrefix(x.name, "llama") {
				continue // one engine, so no pair
			}
			table += compare(t, plan, x, y)
		}
	}
	t.Logf("%d prompts\n%s", len(plan), table)
	if *update {
		documented(t, enginesDoc, "<!-- one model, three engines -->\n", "<!-- end of one model, three engines -->", table)
	}
}

// samePlan makes the requests. Candidates are asked for by id, since several
// tokens may have one text; llama-server names ids anyway, and ignores
// prompt_logprobs.
func samePlan(t *testing.T) []exchange.Request {
	t.Helper()
	base, err := fixture.ReadBaseline(fixtures.FS, "", "baselines/tiny")
	if err != nil {
		t.Fatal(err)
	}
	var plan []exchange.Request
	for _, id := range samePrompts {
		i := slices.IndexFunc(base.Answers, func(a fixture.Answer) bool { return a.Request == id })
		if i < 0 || len(base.Answers[i].PromptIDs) < 2 {
			t.Fatalf("baselines/tiny has no prompt ids for %q: name another request", id)
		}
		plan = append(plan, exchange.Request{ID: id, API: exchange.Completions, PromptIDs: base.Answers[i].PromptIDs, Params: map[string]any{
			"temperature": 0, "max_tokens": sameTokens, "logprobs": sameTop, "prompt_logprobs": sameTop,
			"return_token_ids": true, "return_tokens_as_token_ids": true,
		}})
	}
	return plan
}

// reference starts the reference server on the file that llama-server loads.
func reference(t *testing.T) string {
	t.Helper()
	url, stop, err := Embedded(t.Context(), refserver.Config{GGUF: tinyFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// ask sends the plan, one request at a time. A reply in which positions can't
// be told apart ends the test: nothing could be compared with it.
func (e *sameEngine) ask(t *testing.T, plan []exchange.Request) {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: e.url})
	if err != nil {
		t.Fatal(err)
	}
	target, err := engine.Find(t.Context(), c, "", engine.Wait{Limit: time.Minute, Interval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e.replies = map[string]*exchange.Reply{}
	for _, r := range plan {
		r.Params = maps.Clone(r.Params)
		maps.Copy(r.Params, target.Neutral)
		reply, failure := exchange.Decode(c.Do(t.Context(), r))
		if failure != nil {
			t.Fatalf("%s, %s: %v", e.name, r.ID, failure)
		}
		if problem := aligned(r, reply); problem != "" {
			t.Fatalf("%s, %s: %s", e.name, r.ID, problem)
		}
		e.replies[r.ID] = reply
	}
}

// aligned says why the positions of a reply are not those of the request and
// its tokens; "" where they are.
func aligned(r exchange.Request, reply *exchange.Reply) string {
	n, u := len(reply.Tokens), reply.Usage
	switch {
	case u == nil || u.Prompt != len(r.PromptIDs):
		return fmt.Sprintf("usage %+v for a prompt of %d ids: it saw another input", u, len(r.PromptIDs))
	case n == 0 || len(reply.TokenIDs) != n || u.Completion != n:
		// llama-server gives one entry to a character that several tokens spell.
		return fmt.Sprintf("%d log-probabilities for %d ids, usage %d: name a prompt whose answer is plain ASCII", n, len(reply.TokenIDs), u.Completion)
	case reply.Prompt != nil && len(reply.Prompt) != len(r.PromptIDs):
		return fmt.Sprintf("%d prompt_logprobs for %d ids", len(reply.Prompt), len(r.PromptIDs))
	}
	return ""
}

// compare compares two engines and returns their rows of the table.
func compare(t *testing.T, plan []exchange.Request, x, y sameEngine) string {
	t.Helper()
	pair, limit, limitListed := x.name+" – "+y.name, apart32, apart32
	if x.half || y.half {
		limit, limitListed = apart16, math.Inf(1)
	}
	names := vocabulary(t)
	generated, listed, asked := apart{names: names}, apart{names: names}, apart{names: names}
	for _, r := range plan {
		a, b := x.replies[r.ID], y.replies[r.ID]
		same := len(a.Tokens)
		if d := parity.Compare(sequence(a), sequence(b), limit); d.Index >= 0 {
			same = d.Index
			t.Logf("%s, %s: the tokens part at %d: %s", pair, r.ID, d.Index, marginOf(d))
			if !d.Explained {
				t.Errorf("%s, %s: that is no near-tie: want a margin of at most %v nats", pair, r.ID, limit)
			}
		}
		for i := range same {
			at := fmt.Sprintf("%s, token %d", r.ID, i)
			generated.see(t, pair, at, a.TokenIDs[i], a.Tokens[i].Logprob, b.Tokens[i].Logprob)
			listed.both(t, pair, at, a.Tokens[i].Top, b.Tokens[i].Top)
		}
		for i := 1; i < min(len(a.Prompt), len(b.Prompt)); i++ { // nothing precedes the first
			at := fmt.Sprintf("%s, prompt token %d", r.ID, i)
			asked.see(t, pair, at, r.PromptIDs[i], a.Prompt[i].Logprob, b.Prompt[i].Logprob)
			listed.both(t, pair, at, a.Prompt[i].Top, b.Prompt[i].Top)
		}
	}
	rows := generated.row(t, pair, "generated tokens", limit)
	if !strings.Contains(pair, "llama") { // which tells none of the prompt
		rows += asked.row(t, pair, "prompt tokens", limit)
	}
	return rows + listed.row(t, pair, "candidates", limitListed)
}

// sequence is a reply as parity compares it.
func sequence(r *exchange.Reply) parity.Sequence {
	s := parity.Sequence{IDs: r.TokenIDs}
	for _, t := range r.Tokens {
		s.Logprobs, s.Top = append(s.Logprobs, t.Logprob), append(s.Top, t.Top)
	}
	return s
}

func marginOf(d parity.Divergence) string {
	switch {
	case d.Margin == nil:
		return "one stopped, or its candidates are not told"
	case d.AtLeast:
		return fmt.Sprintf("margin at least %.2g nats", *d.Margin)
	}
	return fmt.Sprintf("margin %.2g nats", *d.Margin)
}

// vocabulary tells what a token id stands for.
func vocabulary(t *testing.T) *token.Tokenizer {
	t.Helper()
	f, err := gguf.Parse(fixtures.Tiny(), fixtures.TinyModel)
	if err != nil {
		t.Fatal(err)
	}
	names, err := token.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// apart is the largest difference so far, of n compared.
type apart struct {
	names *token.Tokenizer
	n     int
	most  float64 // nats
	where string
}

// see compares one token's log-probabilities. One that is missing is an error:
// what was not told would pass as equal.
func (a *apart) see(t *testing.T, pair, at string, id int, x, y *float64) {
	t.Helper()
	if x == nil || y == nil {
		t.Errorf("%s, %s: no log-probability of %q (id %d) on one side", pair, at, a.names.Piece(id), id)
		return
	}
	a.n++
	if d := math.Abs(*x - *y); a.n == 1 || d > a.most {
		a.most, a.where = d, fmt.Sprintf("%s, %q (%.5f and %.5f)", at, a.names.Piece(id), *x, *y)
	}
}

// both compares the candidates that both engines list at a position.
func (a *apart) both(t *testing.T, pair, at string, x, y []exchange.Alternative) {
	t.Helper()
	for _, c := range x {
		i := slices.IndexFunc(y, func(o exchange.Alternative) bool { return c.ID != nil && o.ID != nil && *c.ID == *o.ID })
		if i >= 0 {
			a.see(t, pair, at, *c.ID, c.Logprob, y[i].Logprob)
		}
	}
}

// row is the row of the table. Nothing compared is no pass.
func (a *apart) row(t *testing.T, pair, what string, limit float64) string {
	t.Helper()
	switch {
	case a.n == 0:
		t.Errorf("%s: no %s were compared", pair, what)
	case a.most > limit:
		t.Errorf("%s, %s: %.2g nats apart at %s, want at most %v", pair, what, a.most, a.where, limit)
	}
	held := "–"
	if !math.IsInf(limit, 1) {
		held = fmt.Sprint(limit)
	}
	return fmt.Sprintf("| %s | %s | %d | %.2g | %s | %s |\n", pair, what, a.n, a.most, held, a.where)
}
