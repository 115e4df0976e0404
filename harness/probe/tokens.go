package probe

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/verdict"
)

// tokensProbe holds the server's counts against each other and against the
// baseline's. All of it is exact: no kernel may change a count.
type tokensProbe struct{}

func (tokensProbe) Area() verdict.Area { return verdict.Tokens }

func (tokensProbe) Reads() []verdict.Area {
	return []verdict.Area{verdict.Coherence, verdict.Anchors, verdict.Tokens}
}

// Plan asks /tokenize for each prompt that is generated from elsewhere.
func (tokensProbe) Plan(env Env) []exchange.Request {
	if !env.Target.Can(exchange.CapTokenize) {
		return nil
	}
	var out []exchange.Request
	for _, p := range env.Prompts {
		if grouped(p) || !possible(env, p) {
			continue
		}
		for _, in := range p.Inputs() {
			if r, ok := tokenize(env, p, in); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// tokenize asks for the tokens of an input, in the form that the server takes.
func tokenize(env Env, p fixture.Prompt, in fixture.Input) (exchange.Request, bool) {
	r := exchange.Request{
		ID: string(verdict.Tokens) + "/" + in.ID, Probe: string(verdict.Tokens), Case: p.ID,
		API: exchange.Tokenize,
	}
	switch field := env.Target.TokenizeField; {
	case field == "prompt" && in.API == exchange.Completions:
		r.Prompt = in.Text
	case field == "prompt":
		r.Messages, r.Params = in.Messages, map[string]any{"add_generation_prompt": true}
	case in.API == exchange.Completions:
		// llama.cpp's form; add_special because /v1/completions adds BOS too.
		r.Params = map[string]any{field: in.Text, "add_special": true}
	default:
		return r, false // no chat template behind this /tokenize
	}
	return r, true
}

func (t tokensProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	generated := ok(ev.In(verdict.Coherence, verdict.Anchors))
	if len(generated) == 0 {
		return o
	}
	t.completions(ev, generated, &o)
	t.prompts(ev, generated, &o)
	t.finish(ev, generated, &o)
	t.text(ev, generated, &o)
	t.baseline(ev, generated, &o)
	return o
}

func ok(items []Item) []Item {
	var out []Item
	for _, it := range items {
		if it.OK() {
			out = append(out, it)
		}
	}
	return out
}

// settle adds the findings of a check, or one that passed.
func settle(o *Outcome, check string, judged int, failed []verdict.Finding, what, none string) {
	switch {
	case judged == 0:
		o.skip(check, "%s", none)
	case len(failed) == 0:
		o.add(verdict.Finding{Check: check, Status: verdict.Pass, Summary: fmt.Sprintf("%s in all %d replies", what, judged), Measured: "0", Limit: "0"})
	default:
		o.Findings = append(o.Findings, failed...)
	}
}

// completions: usage.completion_tokens = number of ids = number of
// log-probability entries. Servers differ in whether EOS is counted, named or
// given a log-probability, so the difference at finish_reason "stop" is learnt
// from this run: one token, always the same, is a convention; anything else is
// a fault.
func (tokensProbe) completions(ev *Evidence, items []Item, o *Outcome) {
	judged := 0
	var failed []verdict.Finding
	for _, m := range []struct {
		name  string
		count func(*exchange.Reply) (int, bool)
	}{
		{"token ids", func(r *exchange.Reply) (int, bool) { return len(r.TokenIDs), r.TokenIDs != nil }},
		{"log-probability entries", func(r *exchange.Reply) (int, bool) { return len(r.Tokens), r.Tokens != nil }},
	} {
		convention := stopConvention(items, m.count)
		for _, it := range items {
			n, has := m.count(it.Reply)
			if !has || it.Reply.Usage == nil {
				continue
			}
			judged++
			want := n
			if it.Reply.FinishReason == "stop" {
				want = n - convention
			}
			if u := it.Reply.Usage.Completion; u == want || u > want && u <= want+merged(it.Reply) {
				continue
			}
			failed = append(failed, verdict.Finding{
				Check: verdict.TokensCompletion, Status: verdict.Fail,
				Summary:   fmt.Sprintf("usage counts another number of generated tokens than there are %s", m.name),
				Measured:  fmt.Sprintf("usage %d, %s %d", it.Reply.Usage.Completion, m.name, n),
				Limit:     fmt.Sprintf("equal (at a stop this server's %s count %+d)", m.name, convention),
				Where:     it.Request.ID,
				Evidence:  excerpt(it.Reply.Answer()),
				Reproduce: ev.reproduce(it),
			})
		}
	}
	settle(o, verdict.TokensCompletion, judged, failed, "usage, token ids and log-probability entries agree", "the server tells neither token ids nor log-probabilities")
}

// merged is how many tokens may be hidden in a reply's log-probability entries,
// where those are also what tells the ids. llama-server gives one entry to a
// character that several tokens spell, so an entry with a character of k bytes
// may stand for up to k tokens.
func merged(r *exchange.Reply) int {
	if len(r.Tokens) == 0 || r.TokenIDs != nil && len(r.TokenIDs) != len(r.Tokens) {
		return 0
	}
	n := 0
	for _, t := range r.Tokens {
		if !isASCII(t.Text) {
			n += len(t.Text) - 1
		}
	}
	return n
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// stopConvention returns by how much the count differs from usage wherever
// generation stopped by itself: -1, 0 or 1 when it is the same everywhere.
func stopConvention(items []Item, count func(*exchange.Reply) (int, bool)) int {
	seen := map[int]int{}
	for _, it := range items {
		if n, has := count(it.Reply); has && it.Reply.Usage != nil && it.Reply.FinishReason == "stop" && merged(it.Reply) == 0 {
			seen[n-it.Reply.Usage.Completion]++
		}
	}
	if len(seen) != 1 {
		return 0
	}
	for d := range seen {
		if d == 1 || d == -1 {
			return d
		}
	}
	return 0
}

// prompts: usage.prompt_tokens = number of prompt ids = /tokenize.
func (tokensProbe) prompts(ev *Evidence, items []Item, o *Outcome) {
	counted := map[string]*exchange.Reply{}
	for _, it := range ok(ev.In(verdict.Tokens)) {
		counted[it.Request.Case] = it.Reply
	}
	judged := 0
	var failed []verdict.Finding
	for _, it := range items {
		r := it.Reply
		if r.Usage == nil {
			continue
		}
		var said []string
		differs := false
		if r.PromptTokenIDs != nil {
			said = append(said, fmt.Sprintf("prompt ids %d", len(r.PromptTokenIDs)))
			differs = len(r.PromptTokenIDs) != r.Usage.Prompt
		}
		if t := counted[it.Request.Case]; t != nil && t.TokenList != nil {
			said = append(said, fmt.Sprintf("/tokenize %d", len(t.TokenList)))
			differs = differs || len(t.TokenList) != r.Usage.Prompt ||
				r.PromptTokenIDs != nil && !slices.Equal(t.TokenList, r.PromptTokenIDs)
		}
		if len(said) == 0 {
			continue
		}
		judged++
		if differs {
			failed = append(failed, verdict.Finding{
				Check: verdict.TokensPrompt, Status: verdict.Fail,
				Summary:   "the server's counts of the prompt's tokens disagree",
				Measured:  fmt.Sprintf("usage %d, %s", r.Usage.Prompt, strings.Join(said, ", ")),
				Limit:     "equal, token by token where ids are told",
				Where:     it.Request.ID,
				Reproduce: ev.reproduce(it),
			})
		}
	}
	settle(o, verdict.TokensPrompt, judged, failed, "usage, prompt ids and /tokenize agree", "the server tells neither prompt ids nor has it /tokenize")
}

// finish: the finish reason, the count and the limit agree within a reply.
func (tokensProbe) finish(ev *Evidence, items []Item, o *Outcome) {
	var failed []verdict.Finding
	for _, it := range items {
		limit, has := maxTokens(it.Request)
		u := it.Reply.Usage
		why := ""
		switch reason := it.Reply.FinishReason; {
		case reason == "":
			why = "no finish_reason"
		case reason != "stop" && reason != "length" && reason != "tool_calls" && reason != "content_filter":
			why = fmt.Sprintf("unknown finish_reason %q", reason)
		case u == nil || !has:
		case u.Total != 0 && u.Total != u.Prompt+u.Completion:
			why = fmt.Sprintf("total_tokens %d is not %d + %d", u.Total, u.Prompt, u.Completion)
		case u.Completion > limit:
			why = fmt.Sprintf("%d tokens generated where max_tokens is %d", u.Completion, limit)
		case reason == "length" && u.Completion < limit && !full(ev.Target, u):
			why = fmt.Sprintf("finish_reason length after %d of %d tokens", u.Completion, limit)
		case u.Completion > 1 && it.Reply.Answer() == "" && !allSpecial(it.Reply):
			why = fmt.Sprintf("%d tokens counted and no text", u.Completion)
		}
		if why != "" {
			failed = append(failed, verdict.Finding{
				Check: verdict.TokensFinish, Status: verdict.Fail,
				Summary: "finish reason, length and limits disagree: " + why,
				Where:   it.Request.ID, Evidence: excerpt(it.Reply.Answer()), Reproduce: ev.reproduce(it),
			})
		}
	}
	settle(o, verdict.TokensFinish, len(items), failed, "finish reason, length and limits agree", "")
}

// full says whether the context ended the reply before max_tokens did.
func full(t exchange.Target, u *exchange.Usage) bool {
	return t.MaxModelLen == 0 || u.Prompt+u.Completion >= t.MaxModelLen-1
}

// allSpecial can't be known without a vocabulary: a reply whose tokens have no
// text of their own (log-probability entries with empty text) has none to show.
func allSpecial(r *exchange.Reply) bool {
	for _, t := range r.Tokens {
		if t.Text != "" && !strings.HasPrefix(t.Text, "<") {
			return false
		}
	}
	return len(r.Tokens) > 0
}

func maxTokens(r exchange.Request) (int, bool) {
	switch n := r.Params["max_tokens"].(type) {
	case int:
		return n, true
	case float64: // read back from JSON
		return int(n), true
	}
	return 0, false
}

// text: the tokens of the log-probability entries spell the text. Whether EOS
// has an entry, and whether a leading space is dropped, are conventions: a
// server that never spells its text exactly is not judged by this check.
func (tokensProbe) text(ev *Evidence, items []Item, o *Outcome) {
	judged := 0
	var failed []verdict.Finding
	for _, it := range items {
		if len(it.Reply.Tokens) == 0 {
			continue
		}
		judged++
		if !spells(it.Reply) {
			failed = append(failed, verdict.Finding{
				Check: verdict.TokensText, Status: verdict.Fail,
				Summary:  "the text is not what its tokens spell",
				Measured: excerpt(it.Reply.Text), Limit: excerpt(joined(it.Reply.Tokens)),
				Where: it.Request.ID, Reproduce: ev.reproduce(it),
			})
		}
	}
	if judged > 0 && len(failed) == judged {
		o.skip(verdict.TokensText, "this server's log-probability entries never spell its text")
		return
	}
	settle(o, verdict.TokensText, judged, failed, "the tokens spell the text", "no log-probability entries")
}

func joined(ts []exchange.Token) string {
	var b bytes.Buffer
	for _, t := range ts {
		if t.Bytes != nil {
			b.Write(t.Bytes)
		} else {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func spells(r *exchange.Reply) bool {
	want := r.Answer()
	if r.Reasoning != "" {
		return true // markers between reasoning and text are cut by the server
	}
	for _, tokens := range [][]exchange.Token{r.Tokens, r.Tokens[:len(r.Tokens)-1]} {
		got := strings.ToValidUTF8(joined(tokens), "\uFFFD")
		if got == want || strings.TrimSpace(got) == strings.TrimSpace(want) || strings.Contains(got, "\uFFFD") {
			return true // U+FFFD: a character was cut between two entries, which only the server could join
		}
	}
	return false
}

// baseline: the prompt has the baseline's token ids, or at least its count.
func (tokensProbe) baseline(ev *Evidence, items []Item, o *Outcome) {
	if ev.Baseline == nil {
		o.skip(verdict.TokensBaseline, "no baseline")
		return
	}
	judged := 0
	var failed []verdict.Finding
	for _, it := range items {
		base := ev.Answer(it.Request)
		if base == nil {
			continue
		}
		why := ""
		switch {
		case base.PromptIDs != nil && it.Reply.PromptTokenIDs != nil:
			judged++
			if i := firstDifference(base.PromptIDs, it.Reply.PromptTokenIDs); i >= 0 {
				why = fmt.Sprintf("%d ids, the first that differs is number %d", len(it.Reply.PromptTokenIDs), i)
			}
		case base.PromptTokens != nil && it.Reply.Usage != nil:
			judged++
			if *base.PromptTokens != it.Reply.Usage.Prompt {
				why = fmt.Sprintf("%d tokens", it.Reply.Usage.Prompt)
			}
		}
		if why == "" {
			continue
		}
		f := verdict.Finding{
			Check: verdict.TokensBaseline, Status: verdict.Fail,
			Summary:  "the prompt is not tokenised as in the baseline (BOS, chat template or vocabulary)",
			Measured: why, Limit: "equal", Where: it.Request.ID, Reproduce: ev.reproduce(it),
		}
		if base.PromptTokens != nil {
			f.Baseline = fmt.Sprintf("%d tokens", *base.PromptTokens)
		}
		failed = append(failed, f)
	}
	sort.SliceStable(failed, func(i, j int) bool { return failed[i].Where < failed[j].Where })
	settle(o, verdict.TokensBaseline, judged, failed, "the prompt's tokens are the baseline's", "neither side tells the prompt's tokens, or the prompts were changed")
}

func firstDifference(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
