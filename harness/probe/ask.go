package probe

import (
	"maps"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// topAnswer and topNext are how many alternatives are asked for: a few along
// an answer, to see near-ties, and the 20 that OpenAI's API allows where one
// distribution is compared with another.
const (
	topAnswer = 5
	topNext   = 20
)

// ask makes the greedy request of a prompt's input. It sends no field that
// this server was seen to refuse.
func ask(env Env, area verdict.Area, p fixture.Prompt, in fixture.Input, maxTokens, top int) exchange.Request {
	r := exchange.Request{
		ID:       string(area) + "/" + in.ID,
		Probe:    string(area),
		Case:     p.ID,
		API:      in.API,
		Messages: in.Messages,
		Prompt:   in.Text,
		Params:   greedy(env, maxTokens),
	}
	withLogprobs(env, &r, top)
	return r
}

// askEach makes the requests of the prompts that which picks.
func askEach(env Env, area verdict.Area, which func(fixture.Prompt) bool) []exchange.Request {
	var out []exchange.Request
	for _, p := range env.Prompts {
		if !which(p) || !possible(env, p) {
			continue
		}
		for _, in := range p.Inputs() {
			out = append(out, ask(env, area, p, in, p.MaxTokens, topAnswer))
		}
	}
	return out
}

// grouped says whether the prompt is a group of inputs of which only the
// first distribution is read.
func grouped(p fixture.Prompt) bool { return p.Context != nil || p.Control != nil }

// greedy are the parameters of every request that must be repeatable.
func greedy(env Env, maxTokens int) map[string]any {
	params := map[string]any{"temperature": 0, "max_tokens": maxTokens}
	maps.Copy(params, env.Target.Neutral)
	if env.Target.Can(exchange.CapTokenIDs) {
		params["return_token_ids"] = true
	}
	return params
}

func withLogprobs(env Env, r *exchange.Request, k int) {
	if !env.Target.Can(exchange.CapLogprobs) {
		return
	}
	if r.API == exchange.Chat {
		r.Params["logprobs"], r.Params["top_logprobs"] = true, k
	} else {
		r.Params["logprobs"] = k
	}
}

// possible says whether the target serves the prompt's API.
func possible(env Env, p fixture.Prompt) bool { return serves(env.Target, p.API) }

// serves says whether an endpoint is worth asking. One that died while it was
// probed is asked all the same: its failure is a finding.
func serves(t exchange.Target, api exchange.API) bool {
	c := exchange.CapChat
	if api == exchange.Completions {
		c = exchange.CapCompletions
	}
	return t.Capabilities[c] != exchange.Absent
}

// said returns what the prompt asks, in one text.
func said(p fixture.Prompt) string {
	var parts []string
	for _, in := range p.Inputs() {
		for _, m := range in.Messages {
			parts = append(parts, m.Content)
		}
		if in.Text != "" {
			parts = append(parts, in.Text)
		}
	}
	return strings.Join(parts, "\n")
}
