package refserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tolerance is the project's bound on a log-probability against the float32
// reference, in nats. Measured: below 2e-5.
const tolerance = 1e-3

// TestTruthOverHTTP asks for everything that expected.json knows, over HTTP,
// with 65 requests in flight, in engines of several shapes, cold and from the
// cache. Whatever the batch, the tokens are the same and the log-probabilities
// within tolerance at every position.
func TestTruthOverHTTP(t *testing.T) {
	truth := readTruth(t)
	for name, cfg := range map[string]Config{
		"default":   {},
		"chunks":    {MaxNumBatchedTokens: 32},
		"alone":     {MaxNumSeqs: 1},
		"three":     {MaxNumSeqs: 3},
		"preempted": {MaxNumBatchedTokens: 32, MaxModelLen: 128, NumBlocks: 40},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := start(t, cfg)
			inFlight(t, truth, func(i int, p truthPrompt) error { return scored(url, p, i%2 == 0) })
			inFlight(t, truth, func(_ int, p truthPrompt) error { return cached(url, p, name != "preempted") })
			st := s.Stats()
			if name == "preempted" && st.Preemptions == 0 {
				t.Error("no sequence was preempted: the case tests nothing")
			}
			if st.Hits == 0 {
				t.Error("nothing came from the prefix cache: the case tests nothing")
			}
			if st.BlocksUsed != 0 {
				t.Errorf("%d blocks are still in use", st.BlocksUsed)
			}
		})
	}
}

// inFlight asks five times for each prompt, all at once.
func inFlight(t *testing.T, truth []truthPrompt, ask func(int, truthPrompt) error) {
	t.Helper()
	var wg sync.WaitGroup
	for round := range 5 {
		for i, p := range truth {
			wg.Go(func() {
				if err := ask(round+i, p); err != nil {
					t.Errorf("prompt %d, round %d: %v", i, round, err)
				}
			})
		}
	}
	wg.Wait()
}

// request is greedy and asks for ids and the 20 likeliest tokens.
func request(p truthPrompt, ids bool) (string, object) {
	r := object{"temperature": 0, "max_tokens": len(p.Greedy), "return_token_ids": true, "return_tokens_as_token_ids": true}
	if p.Kind == "chat" {
		r["messages"], r["logprobs"], r["top_logprobs"] = p.Source, true, 20
		return "/v1/chat/completions", r
	}
	r["prompt"], r["logprobs"] = p.Source, 20
	if ids {
		r["prompt"] = p.IDs
	}
	return "/v1/completions", r
}

func ask(url, path string, r object) (*answer, error) {
	status, body, err := send(url+path, r)
	if err != nil {
		return nil, err
	}
	if status != 200 {
		return nil, fmt.Errorf("status %d: %s", status, body)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	if len(a.Choices) != 1 {
		return nil, fmt.Errorf("%d choices: %s", len(a.Choices), body)
	}
	return &a, nil
}

// scored checks the prompt's log-probabilities too, which bypass the cache.
func scored(url string, p truthPrompt, ids bool) error {
	path, r := request(p, ids)
	r["prompt_logprobs"] = 20
	a, err := ask(url, path, r)
	if err != nil {
		return err
	}
	prompt, promptIDs := a.Choices[0].Prompt, a.Choices[0].PromptIDs
	if p.Kind == "chat" {
		prompt, promptIDs = a.Prompt, a.PromptIDs
	}
	if !slices.Equal(promptIDs, p.IDs) || len(prompt) != len(p.IDs) || prompt[0] != nil {
		return fmt.Errorf("prompt ids %v, %d entries, the first %v; want %v", promptIDs, len(prompt), prompt[0], p.IDs)
	}
	for t, entry := range prompt[1:] {
		want := p.Positions[t]
		got, ok := entry[p.IDs[t+1]]
		if !ok || math.Abs(got.Logprob-*want.Next) > tolerance {
			return fmt.Errorf("prompt token %d: %v, want log-probability %v", t+1, entry, *want.Next)
		}
		for _, top := range want.Top {
			if c, ok := entry[int(top[0])]; ok && math.Abs(c.Logprob-top[1]) > tolerance {
				return fmt.Errorf("prompt position %d, candidate %v: %v, want %v", t+1, top[0], c.Logprob, top[1])
			}
		}
		if first := int(want.Top[0][0]); entry[first].Rank != 1 {
			return fmt.Errorf("prompt position %d: rank %d of the likeliest token %d", t+1, entry[first].Rank, first)
		}
	}
	if *a.Usage.Details.Cached != 0 {
		return fmt.Errorf("%d cached tokens, but a request with prompt_logprobs does not read the cache", *a.Usage.Details.Cached)
	}
	return generated(a, p)
}

// cached checks the generated tokens after a hit. The last prompt token is
// always computed, so only full blocks before it can be cached; all of them are,
// unless they were evicted.
func cached(url string, p truthPrompt, all bool) error {
	path, r := request(p, false)
	a, err := ask(url, path, r)
	if err != nil {
		return err
	}
	if got, most := *a.Usage.Details.Cached, (len(p.IDs)-1)/16*16; got > most || got%16 != 0 || all && got != most {
		return fmt.Errorf("%d cached tokens of a prompt of %d", got, len(p.IDs))
	}
	return generated(a, p)
}

func generated(a *answer, p truthPrompt) error {
	c := a.Choices[0]
	var ids []int
	for _, g := range p.Greedy {
		ids = append(ids, int(g[0]))
	}
	if !slices.Equal(c.TokenIDs, ids) {
		return fmt.Errorf("tokens %v, want %v", c.TokenIDs, ids)
	}
	if a.Usage.Completion != len(ids) || a.Usage.Prompt != len(p.IDs) || a.Usage.Total != len(ids)+len(p.IDs) {
		return fmt.Errorf("usage %+v, want %d and %d", a.Usage, len(p.IDs), len(ids))
	}
	finish := "length"
	if ids[len(ids)-1] == 2 { // </s>
		finish = "stop"
	}
	// The reference's text spells special tokens out, a server leaves them out.
	want := strings.ReplaceAll(p.Text, "<|user|>", "")
	if text := c.Text + c.Message.Content; text != want || c.FinishReason != finish {
		return fmt.Errorf("text %q, %s; want %q, %s", text, c.FinishReason, want, finish)
	}
	tops, err := alternatives(c.Logprobs)
	if err != nil || len(tops) != len(ids) {
		return errors.Join(err, fmt.Errorf("%d entries of log-probabilities for %d tokens", len(tops), len(ids)))
	}
	for i, g := range p.Greedy {
		if got, ok := tops[i][int(g[0])]; !ok || math.Abs(got-g[1]) > tolerance {
			return fmt.Errorf("token %d: log-probability %v, want %v", i, got, g[1])
		}
	}
	for _, want := range p.Positions[len(p.IDs)-1].Top {
		if got, ok := tops[0][int(want[0])]; ok && math.Abs(got-want[1]) > tolerance {
			return fmt.Errorf("first token, candidate %v: %v, want %v", want[0], got, want[1])
		}
	}
	return nil
}

// alternatives are the candidates of each position by token id.
func alternatives(l *replyLogprobs) ([]map[int]float64, error) {
	var out []map[int]float64
	put := func(m map[int]float64, name string, v float64) error {
		id, err := strconv.Atoi(strings.TrimPrefix(name, "token_id:"))
		m[id] = v
		return err
	}
	for i, top := range l.Top {
		m := map[int]float64{}
		for name, v := range top {
			if err := put(m, name, v); err != nil {
				return nil, err
			}
		}
		if m[0] == 0 && len(m) < 20 || l.Values[i] > 0 {
			return nil, fmt.Errorf("position %d has %d candidates", i, len(m))
		}
		out = append(out, m)
	}
	for _, c := range l.Content {
		m := map[int]float64{}
		for _, top := range c.Top {
			if err := put(m, top.Token, top.Logprob); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}
