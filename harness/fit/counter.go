package fit

import (
	"context"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
)

// counter counts the tokens of a prompt as the server does.
type counter struct {
	server Server
	target exchange.Target
	api    exchange.API
	chat   bool // /tokenize takes messages, and puts the chat template on

	offset      float64  // what the server's usage counts beyond its /tokenize: a chat template
	wordsAToken float64  // of the filler
	pads        []string // words of one token each
	why         string   // there is no exact count; empty: there is
}

// sample is what the counter learns from: plain words, of which the later
// prompts share no beginning.
func sample(words int) string {
	return "Sample. " + strings.TrimSpace(strings.Repeat("the boats carry grain and wool to the town, and bread is sold at noon. ", 1+words/14))
}

func newCounter(ctx context.Context, s Server, t exchange.Target, w fixture.Workload) *counter {
	c := &counter{server: s, target: t, api: w.API, wordsAToken: 0.75}
	if !t.Can(exchange.CapTokenize) {
		c.byUsage(ctx)
		return c
	}
	long := sample(200)
	if c.api == exchange.Chat {
		c.chat = true
		n, ok := c.tokenize(ctx, long)
		c.chat = ok && n > 0 // llama.cpp answers messages with an empty list
	}
	n, ok := c.tokenize(ctx, long)
	if !ok || n == 0 {
		c.byUsage(ctx)
		return c
	}
	c.wordsAToken = float64(len(strings.Fields(long))) / float64(n)
	if used, ok := c.usage(ctx, long); ok {
		c.offset = float64(used - n)
	}
	base, _ := c.tokenize(ctx, "Note")
	for _, word := range []string{"and", "the", "of", "to", "in", "a", "on", "it", "for", "with", "as", "at"} {
		if n, ok := c.tokenize(ctx, "Note"+strings.Repeat(" "+word, 4)); ok && n == base+4 {
			c.pads = append(c.pads, word)
		}
	}
	return c
}

// byUsage learns from two prompts how the server counts, where it has no
// tokenizer to ask. Counting each prompt so would answer it, and leave it in
// the prefix cache.
func (c *counter) byUsage(ctx context.Context) {
	short, long := sample(28), sample(280)
	c.why = "the server has no /tokenize and tells no usage"
	a, ok := c.usage(ctx, short)
	b, too := c.usage(ctx, long)
	words := len(strings.Fields(long)) - len(strings.Fields(short))
	if !ok || !too || b <= a {
		return
	}
	c.why = "the server has no /tokenize; its usage for two prompts gave the ratio"
	c.wordsAToken = float64(words) / float64(b-a)
	c.offset = float64(a) - float64(len(strings.Fields(short)))/c.wordsAToken
}

func (c *counter) count(ctx context.Context, text string) (int, bool) {
	n, ok := c.tokenize(ctx, text)
	return n + int(c.offset), ok
}

// tokenize asks the server's tokenizer.
func (c *counter) tokenize(ctx context.Context, text string) (int, bool) {
	r := exchange.Request{ID: "fit/tokenize", Probe: "fit", API: exchange.Tokenize, Params: map[string]any{}}
	switch {
	case c.chat:
		r.Messages = []exchange.Message{{Role: "user", Content: text}}
		r.Params["add_generation_prompt"] = true
	case c.target.TokenizeField == "content": // llama.cpp
		r.Params["content"], r.Params["add_special"] = text, true
	default:
		r.Prompt = text
	}
	reply, failure := exchange.Decode(c.server.Do(ctx, r))
	if failure != nil || reply.Count == nil {
		return 0, false
	}
	return *reply.Count, true
}

// usage asks for one token and returns what the server counts as its prompt.
func (c *counter) usage(ctx context.Context, text string) (int, bool) {
	r := exchange.Request{ID: "fit/usage", Probe: "fit", API: c.api, Params: map[string]any{"max_tokens": 1, "temperature": 0}}
	if c.api == exchange.Chat {
		r.Messages = []exchange.Message{{Role: "user", Content: text}}
	} else {
		r.Prompt = text
	}
	reply, failure := exchange.Decode(c.server.Do(ctx, r))
	if failure != nil || reply.Usage == nil || reply.Usage.Prompt == 0 {
		return 0, false
	}
	return reply.Usage.Prompt, true
}
