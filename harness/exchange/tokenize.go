package exchange

import "encoding/json"

// tokenize decodes the answer of /tokenize: {"count":…,"tokens":[…]} on vLLM
// and SGLang, {"tokens":[…]} on llama.cpp, whose tokens are objects with an
// id when pieces were asked for. Without a count, the list's length is it.
func (d *decoder) tokenize(raw []byte) {
	var o struct {
		Count  *int              `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
		Error  json.RawMessage   `json:"error"`
	}
	r := d.reply
	if err := json.Unmarshal(raw, &o); err != nil {
		d.broken(raw, err, true)
		return
	}
	if len(o.Error) > 0 && string(o.Error) != "null" {
		d.fail(Malformed, "error object under HTTP 200: %s", errorText(o.Error))
		return
	}
	if o.Tokens == nil && o.Count == nil {
		d.fail(Malformed, "neither count nor tokens in %s", excerpt(raw))
		return
	}
	r.Done = true
	r.Count = o.Count
	if o.Tokens == nil {
		return
	}
	r.TokenList = make([]int, 0, len(o.Tokens))
	for i, t := range o.Tokens {
		var id int
		var piece struct {
			ID *int `json:"id"`
		}
		switch {
		case json.Unmarshal(t, &id) == nil:
		case json.Unmarshal(t, &piece) == nil && piece.ID != nil:
			id = *piece.ID
		default:
			d.fail(Malformed, "tokens[%d] is no token id: %s", i, excerpt(t))
			return
		}
		r.TokenList = append(r.TokenList, id)
	}
	if r.Count == nil {
		n := len(r.TokenList)
		r.Count = &n
	}
}
