// Package fit brings the prompts of a workload to the length in tokens that it
// asks for, by the server's own tokenizer, before any of them is timed. A
// length that is guessed differs between tokenizers by a third and more, and
// prefill time goes by the length.
package fit

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load"
)

// Server is what can be asked.
type Server interface {
	Do(ctx context.Context, r exchange.Request) *exchange.Exchange
}

// together is how many questions to the tokenizer are under way at once.
const together = 8

// Fit returns the workload with Exact filled in, where it names lengths, and a
// note where the lengths are not exact. A request that can't fit into the
// context is an error before anything is sent.
func Fit(ctx context.Context, s Server, t exchange.Target, w fixture.Workload, limits load.Limits) (out fixture.Workload, note string, err error) {
	if err := fits(t, w); err != nil {
		return w, "", err
	}
	todo := load.Measurements(w, limits)
	if len(todo) == 0 {
		return w, "", nil
	}
	c := newCounter(ctx, s, t, w)
	most := 0
	for i := range todo {
		most = max(most, i+1)
	}
	w.Exact = make([]string, most)
	off, bare := c.all(ctx, todo, w)
	if bare > 0 {
		return w, "", &engine.Error{Kind: engine.Usage,
			Msg:  fmt.Sprintf("%s: a prompt is %d tokens before any filler, more than it shall come to", w.Where(), bare),
			Hint: fmt.Sprintf("give --prompt-tokens %d or more, or a shorter prompt", bare)}
	}
	if err := ctx.Err(); err != nil {
		return w, "", err
	}
	switch {
	case c.why != "":
		note = "prompt lengths are estimates: " + c.why
	case off > 0:
		note = fmt.Sprintf("%d of %d prompts are a few tokens off their length: no text of that length was found", off, len(todo))
	}
	return w, note, nil
}

// all measures the prompts, counts those that are not exact, and returns the
// longest one that was too long before any filler; 0: none was.
func (c *counter) all(ctx context.Context, todo map[int]load.Sized, w fixture.Workload) (off, bare int) {
	work := make(chan int)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range together {
		all.Go(func() {
			for i := range work {
				text, exact, over := c.fit(ctx, todo[i], w)
				mu.Lock()
				w.Exact[i] = text
				if !exact {
					off++
				}
				bare = max(bare, over)
				mu.Unlock()
			}
		})
	}
	for i := range w.Exact {
		if _, ok := todo[i]; ok && ctx.Err() == nil {
			work <- i
		}
	}
	close(work)
	all.Wait()
	return off, bare
}

// fits refuses lengths beyond the context.
func fits(t exchange.Target, w fixture.Workload) error {
	if t.MaxModelLen <= 0 {
		return nil // not told: the server will say
	}
	refuse := func(where string, prompt, out int) error {
		return &engine.Error{Kind: engine.Usage,
			Msg: fmt.Sprintf("%s: prompts of %d tokens and answers of %d are %d, more than the context of %d tokens that %s tells; nothing was sent",
				where, prompt, out, prompt+out, t.MaxModelLen, t.Model),
			Hint: fmt.Sprintf("give lengths that come to %d at most with --prompt-tokens and --output-tokens, or start the server with a longer context", t.MaxModelLen)}
	}
	for i, x := range w.Trace {
		if x.PromptTokens+x.MaxTokens > t.MaxModelLen {
			return refuse(fmt.Sprintf("request %d of the trace", i+1), x.PromptTokens, x.MaxTokens)
		}
	}
	if w.Trace != nil {
		return nil
	}
	for _, k := range w.Kinds() {
		if k.PromptTokens+k.MaxTokens > t.MaxModelLen {
			return refuse(w.Where(), k.PromptTokens, k.MaxTokens)
		}
	}
	turns := 0
	for _, d := range w.Dialogues {
		turns = max(turns, len(d))
	}
	if turns*w.MaxTokens > t.MaxModelLen {
		return &engine.Error{Kind: engine.Usage,
			Msg:  fmt.Sprintf("%s: the answers of %d turns alone are up to %d tokens, more than the context of %d that %s tells; nothing was sent", w.Where(), turns, turns*w.MaxTokens, t.MaxModelLen, t.Model),
			Hint: "give shorter answers with --output-tokens"}
	}
	return nil
}

// rounds is how often a text is changed and counted again.
const rounds = 8

// fit finds the filler of one prompt. over is its length without any, where
// that is too much.
func (c *counter) fit(ctx context.Context, s load.Sized, w fixture.Workload) (text string, exact bool, over int) {
	want := s.Length.PromptTokens
	z := load.Size{Shared: int(c.wordsAToken * float64(w.SharedTokens))}
	if c.why != "" {
		z.Words = max(0, int(c.wordsAToken*(float64(want)-c.offset))-z.Shared-len(strings.Fields(s.Text(load.Size{}))))
		return s.Text(z), false, 0
	}
	best, gap := "", math.MaxInt
	for range rounds {
		text := s.Text(z)
		n, ok := c.count(ctx, text)
		if !ok {
			return text, false, 0 // the server will fail the load, too
		}
		if z.Words == 0 && len(z.Pad) == 0 && n > want {
			return text, false, n
		}
		left := want - n
		if abs(left) < gap {
			best, gap = text, abs(left)
		}
		if left == 0 {
			break
		}
		z = c.nearer(z, left)
	}
	return best, gap == 0, 0
}

// nearer changes a size by about so many tokens.
func (c *counter) nearer(z load.Size, left int) load.Size {
	step := int(c.wordsAToken * float64(left))
	switch pads := len(z.Pad); {
	case left > 0 && left <= 8 && len(c.pads) > 0:
		for i := range left {
			z.Pad = append(z.Pad, c.pads[(pads+i)%len(c.pads)])
		}
	case left > 0:
		z.Words += max(1, step)
	case pads > 0: // the pads joined with what is around them
		z.Pad = z.Pad[:max(0, pads+left)]
	default:
		z.Words = max(0, z.Words+min(-1, step-1))
	}
	return z
}

func abs(n int) int { return max(n, -n) }
