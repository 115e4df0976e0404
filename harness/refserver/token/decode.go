package token

import "strings"

// Decode returns the text of tokens; special tokens leave none, which is
// vLLM's default (skip_special_tokens). Bytes that are no UTF-8 become U+FFFD.
// Ids outside the vocabulary leave no text.
func (t *Tokenizer) Decode(ids []int) string { return t.decode(ids, false) }

// DecodeAll is Decode with special tokens written by their names.
func (t *Tokenizer) DecodeAll(ids []int) string { return t.decode(ids, true) }

func (t *Tokenizer) decode(ids []int, keepSpecial bool) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(t.textBytes(id, keepSpecial))
	}
	return lossy(b.String())
}

func (t *Tokenizer) textBytes(id int, keepSpecial bool) string {
	if !t.valid(id) || !keepSpecial && t.IsSpecial(id) {
		return ""
	}
	return t.bytes[id]
}

// A Detokenizer turns one sequence into text as its tokens come. What Push and
// Flush return together is what Decode returns for all tokens.
type Detokenizer struct {
	// KeepSpecial writes special tokens by their names, as DecodeAll does. Set
	// it before the first Push.
	KeepSpecial bool

	t       *Tokenizer
	pending string // the beginning of a character
}

// NewDetokenizer starts a sequence. A Detokenizer is not for concurrent use.
func (t *Tokenizer) NewDetokenizer() *Detokenizer { return &Detokenizer{t: t} }

// Push adds a token and returns the text that it completes; the beginning of
// a character is held back until the rest comes.
func (d *Detokenizer) Push(id int) string {
	s := d.pending + d.t.textBytes(id, d.KeepSpecial)
	cut := len(s) - incompleteTail(s)
	d.pending = s[cut:]
	return lossy(s[:cut])
}

// Flush ends the sequence: a character that was never completed becomes U+FFFD.
func (d *Detokenizer) Flush() string {
	s := lossy(d.pending)
	d.pending = ""
	return s
}
