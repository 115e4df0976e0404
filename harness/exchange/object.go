package exchange

import (
	"cmp"
	"math"
	"slices"
)

// object takes in one JSON object: a whole reply, or one event of a stream
// that ends at offset end. It says whether the object was a reply at all.
func (d *decoder) object(o *wireObject, end int) bool {
	if d.isError(o) {
		return false
	}
	r := d.reply
	if o.Model != "" {
		r.Model = o.Model
	}
	if o.Fingerprint != "" {
		r.Fingerprint = o.Fingerprint
	}
	if o.PromptTokenIDs != nil {
		r.PromptTokenIDs = o.PromptTokenIDs
	}
	if o.PromptLogprobs != nil {
		d.positions = o.PromptLogprobs
	}
	usage := o.usage()
	if usage != nil {
		r.Usage = usage
	}
	for i := range o.Choices {
		c := &o.Choices[i]
		d.choices[c.Index] = d.choices[c.Index] || c.FinishReason != nil && *c.FinishReason != ""
		if c.Index == 0 {
			d.choice(c, end, usage)
		}
	}
	return true
}

// isError knows the shapes in which servers put an error under HTTP 200:
// {"error":…}, {"object":"error",…}, {"detail":…}, {"message":…}.
func (d *decoder) isError(o *wireObject) bool {
	switch {
	case len(o.Error) > 0 && string(o.Error) != "null":
		d.fail(Malformed, "error object under HTTP 200: %s", errorText(o.Error))
	case o.Object == "error", o.Choices == nil && len(o.Message) > 0:
		d.fail(Malformed, "error object under HTTP 200: %s", errorText(o.Message))
	case o.Choices == nil && len(o.Detail) > 0:
		d.fail(Malformed, "error object under HTTP 200: %s", errorText(o.Detail))
	default:
		return false
	}
	return true
}

// choice adds what one choice object says to the reply.
func (d *decoder) choice(c *wireChoice, end int, usage *Usage) {
	r := d.reply
	chunk := Chunk{Text: text(c.Text), TokenIDs: c.TokenIDs, Usage: usage}
	tools := false
	for _, m := range []*wireMessage{c.Message, c.Delta} {
		if m != nil {
			if chunk.Text == "" {
				chunk.Text = text(m.Content)
			}
			chunk.Reasoning += m.reasoning()
			tools = tools || len(m.ToolCalls) > 2 && m.ToolCalls[0] == '['
		}
	}
	before := len(r.Tokens)
	d.logprobs(c.Logprobs)
	tokens := r.Tokens[before:]
	derived := c.TokenIDs == nil
	if derived {
		chunk.TokenIDs = idsOf(tokens) // provisional: see settleIDs
	} else {
		d.explicitIDs = true
	}
	r.Text += chunk.Text
	r.Reasoning += chunk.Reasoning
	r.TokenIDs = append(r.TokenIDs, c.TokenIDs...)
	if c.FinishReason != nil && *c.FinishReason != "" {
		r.FinishReason = *c.FinishReason
	}
	if c.PromptTokenIDs != nil {
		r.PromptTokenIDs = c.PromptTokenIDs
	}
	if c.PromptLogprobs != nil {
		d.positions = c.PromptLogprobs
	}
	if d.streamed && (chunk.Text != "" || chunk.Reasoning != "" || len(chunk.TokenIDs) > 0 || len(tokens) > 0 || tools) {
		chunk.At = d.clock.at(end)
		if derived {
			d.derived = append(d.derived, len(r.Chunks))
		}
		r.Chunks = append(r.Chunks, chunk)
	}
}

// idsOf returns the ids of the tokens, or nil unless each has one.
func idsOf(tokens []Token) []int {
	var ids []int
	for _, t := range tokens {
		if t.ID == nil {
			return nil
		}
		ids = append(ids, *t.ID)
	}
	return ids
}

// logprobs adds the tokens of either form.
func (d *decoder) logprobs(w *wireLogprobs) {
	if w == nil {
		return
	}
	for i := range w.Content {
		c := &w.Content[i]
		t := Token{Logprob: c.Logprob.v, Censored: c.Logprob.censored}
		t.ID, t.Text, t.Bytes = named(c)
		for j := range c.TopLogprobs {
			a := &c.TopLogprobs[j]
			alt := Alternative{Logprob: a.Logprob.v, Censored: a.Logprob.censored}
			alt.ID, alt.Text, _ = named(a)
			t.Top = append(t.Top, alt)
		}
		d.reply.Tokens = append(d.reply.Tokens, t)
	}
	if len(w.Tokens) != len(w.TokenLogprobs) {
		d.fail(Malformed, "logprobs: %d tokens, %d token_logprobs", len(w.Tokens), len(w.TokenLogprobs))
	}
	for i, name := range w.Tokens {
		t := Token{}
		t.ID, t.Text, _ = named(&wireToken{Token: name})
		if i < len(w.TokenLogprobs) {
			t.Logprob, t.Censored = w.TokenLogprobs[i].v, w.TokenLogprobs[i].censored
		}
		if i < len(w.TopLogprobs) {
			t.Top = alternatives(w.TopLogprobs[i])
		}
		d.reply.Tokens = append(d.reply.Tokens, t)
	}
}

// named splits an entry's name into id and text. The bytes beside a
// "token_id:N" spell that very string on vLLM, so they go as well.
func named(w *wireToken) (id *int, text string, raw []byte) {
	if id, ok := tokenID(w.Token); ok {
		return id, "", nil
	}
	return w.ID, w.Token, w.Bytes
}

// alternatives orders a map from text to log-probability: likely ones first.
// The map's own order is lost and says nothing here.
func alternatives(m map[string]logprob) []Alternative {
	var alts []Alternative
	for name, l := range m {
		a := Alternative{Logprob: l.v, Censored: l.censored}
		a.ID, a.Text, _ = named(&wireToken{Token: name})
		alts = append(alts, a)
	}
	sortAlternatives(alts)
	return alts
}

// sortAlternatives puts likely ones first, those without a number last.
func sortAlternatives(alts []Alternative) {
	rank := func(p *float64) float64 {
		if p == nil {
			return math.Inf(-1)
		}
		return *p
	}
	id := func(p *int) int {
		if p == nil {
			return -1
		}
		return *p
	}
	slices.SortFunc(alts, func(a, b Alternative) int {
		return cmp.Or(
			cmp.Compare(rank(b.Logprob), rank(a.Logprob)),
			cmp.Compare(id(a.ID), id(b.ID)),
			cmp.Compare(a.Text, b.Text),
		)
	})
}

// settleIDs decides where the ids come from, once the whole reply is known.
// token_ids rule wherever they appeared at all: an event that lacks them must
// not be mended from its log-probabilities, or a lost id would never be seen.
func (d *decoder) settleIDs() {
	r := d.reply
	if !d.explicitIDs {
		r.TokenIDs = idsOf(r.Tokens)
	}
	if d.explicitIDs || r.TokenIDs == nil {
		for _, i := range d.derived {
			r.Chunks[i].TokenIDs = nil
		}
	}
	if d.explicitIDs && len(r.TokenIDs) == len(r.Tokens) {
		for i := range r.Tokens {
			if r.Tokens[i].ID == nil {
				r.Tokens[i].ID = &r.TokenIDs[i]
			}
		}
	}
}

// prompt turns prompt_logprobs into positions.
func (d *decoder) prompt() []Position {
	if d.positions == nil {
		return nil
	}
	ids := d.reply.PromptTokenIDs
	if len(ids) != len(d.positions) {
		ids = d.request.PromptIDs
	}
	out := make([]Position, len(d.positions))
	for i, entries := range d.positions {
		p := Position{ID: -1}
		switch {
		case len(ids) == len(d.positions):
			p.ID = ids[i]
		case len(entries) > 0:
			p.ID = entries[0].id
		}
		for j := range entries {
			e := &entries[j]
			if e.id == p.ID {
				p.Logprob, p.Censored = e.Logprob.v, e.Logprob.censored
			}
			p.Top = append(p.Top, Alternative{ID: &e.id, Text: e.Text, Logprob: e.Logprob.v, Censored: e.Logprob.censored})
		}
		sortAlternatives(p.Top)
		out[i] = p
	}
	return out
}
