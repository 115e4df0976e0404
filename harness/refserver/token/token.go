// Package token turns text into token ids and back, as the tokenizer stored in
// a GGUF file says: byte-level BPE (tokenizer.ggml.model "gpt2"), the file's
// own pre-tokenizer, its special tokens, its BOS rule and its chat template.
//
// Sources: the metadata keys are those of the GGUF specification; where they
// leave a choice, the package does what llama.cpp (src/llama-vocab.cpp) and
// Hugging Face tokenizers agree on, and says so where they part.
package token

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"touchstone/harness/refserver/gguf"
)

// Metadata keys.
const (
	keyModel    = "tokenizer.ggml.model"
	keyPre      = "tokenizer.ggml.pre"
	keyTokens   = "tokenizer.ggml.tokens"
	keyMerges   = "tokenizer.ggml.merges"
	keyTypes    = "tokenizer.ggml.token_type"
	keyBOS      = "tokenizer.ggml.bos_token_id"
	keyEOS      = "tokenizer.ggml.eos_token_id"
	keyEOT      = "tokenizer.ggml.eot_token_id"
	keyEOM      = "tokenizer.ggml.eom_token_id"
	keyAddBOS   = "tokenizer.ggml.add_bos_token"
	keyAddEOS   = "tokenizer.ggml.add_eos_token"
	keyTemplate = "tokenizer.chat_template"
)

// kind is what a token is for, numbered as enum llama_token_type.
type kind int

const (
	kindNormal      kind = 1
	kindUnknown     kind = 2
	kindControl     kind = 3
	kindUserDefined kind = 4
	kindUnused      kind = 5
)

// endTexts are the control tokens that end a generation whatever the file's
// eos_token_id says, because chat models end their turns with them while
// files name only one end token. The list is the usual part of llama.cpp's.
var endTexts = []string{
	"</s>", "<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>",
	"<|end|>", "<end_of_turn>", "<EOT>", "<eos>", "<｜end▁of▁sentence｜>",
}

// A Tokenizer is built once from a file and is safe for concurrent use.
type Tokenizer struct {
	texts  []string // as the vocabulary spells them
	bytes  []string // what each token stands for
	kinds  []kind
	ends   map[int]bool
	bos    int // -1: the file names none
	eos    int
	addBOS bool
	addEOS bool

	pre      *pretokenizer
	byteIDs  [256]int       // the token of a single byte; -1: none
	merges   map[pair]merge // by the two neighbours
	words    map[string]int // bytes to token; nil unless the pre-tokenizer looks whole words up
	specials [256][]int     // tokens matched as a whole, by first byte, longest first
}

// New builds the tokenizer of a file. What the file leaves out or contradicts
// is an error; nothing is guessed.
func New(f *gguf.File) (*Tokenizer, error) {
	t := &Tokenizer{ends: map[int]bool{}, merges: map[pair]merge{}}
	for _, step := range []func(*gguf.File) error{t.loadModel, t.loadVocabulary, t.loadMerges, t.loadSpecial} {
		if err := step(f); err != nil {
			return nil, fmt.Errorf("%s: tokenizer: %w", f.Name(), err)
		}
	}
	return t, nil
}

func (t *Tokenizer) loadModel(f *gguf.File) error {
	model, ok, err := f.String(keyModel)
	if err != nil {
		return err
	}
	if !ok || model != "gpt2" {
		return fmt.Errorf("%s is %q; only byte-level BPE, \"gpt2\", is implemented", keyModel, model)
	}
	pre, _, err := f.String(keyPre)
	if err != nil {
		return err
	}
	t.pre, err = newPretokenizer(pre)
	return err
}

func (t *Tokenizer) loadVocabulary(f *gguf.File) error {
	texts, ok, err := f.Strings(keyTokens)
	if err != nil {
		return err
	}
	if !ok || len(texts) == 0 {
		return errors.New("the file has no " + keyTokens)
	}
	types, typed, err := f.Ints(keyTypes)
	if err != nil {
		return err
	}
	if typed && len(types) != len(texts) {
		return fmt.Errorf("%s has %d entries for %d tokens", keyTypes, len(types), len(texts))
	}
	t.texts = texts
	t.bytes = make([]string, len(texts))
	t.kinds = make([]kind, len(texts))
	for id, text := range texts {
		t.kinds[id] = kindNormal
		if typed {
			t.kinds[id] = kind(types[id])
		}
		switch t.kinds[id] {
		case kindNormal:
			t.bytes[id] = fromByteLevel(text)
		case kindUnused: // fills the vocabulary up and stands for nothing
		default:
			t.bytes[id] = text
		}
	}
	return nil
}

func (t *Tokenizer) loadMerges(f *gguf.File) error {
	ids := make(map[string]int, len(t.texts))
	for id, text := range t.texts {
		if first, twice := ids[text]; twice && text != "" {
			return fmt.Errorf("token %q has the ids %d and %d", text, first, id)
		}
		ids[text] = id
	}
	for b := range t.byteIDs {
		t.byteIDs[b] = -1
		if id, ok := ids[string(byteRunes[b])]; ok {
			t.byteIDs[b] = id
		}
	}
	merges, ok, err := f.Strings(keyMerges)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the file has no " + keyMerges)
	}
	for rank, line := range merges {
		left, right, ok := strings.Cut(line, " ")
		l, okLeft := ids[left]
		r, okRight := ids[right]
		m, okMerged := ids[left+right]
		if !ok || !okLeft || !okRight || !okMerged {
			return fmt.Errorf("merge %d, %q: not two tokens of the vocabulary whose union is a third", rank, line)
		}
		if _, twice := t.merges[pair{int32(l), int32(r)}]; !twice {
			t.merges[pair{int32(l), int32(r)}] = merge{rank: int32(rank), id: int32(m)}
		}
	}
	if t.pre.wholeWords {
		t.words = make(map[string]int, len(t.texts))
		for id, k := range t.kinds {
			if k == kindNormal {
				t.words[t.bytes[id]] = id
			}
		}
	}
	return nil
}

func (t *Tokenizer) loadSpecial(f *gguf.File) error {
	id := func(key string) (int, error) {
		id, ok, err := f.Int(key)
		switch {
		case err != nil:
			return -1, err
		case !ok:
			return -1, nil
		case id < 0 || id >= len(t.texts):
			return -1, fmt.Errorf("%s is %d, outside the vocabulary of %d tokens", key, id, len(t.texts))
		}
		return id, nil
	}
	var errs [4]error
	t.bos, errs[0] = id(keyBOS)
	t.eos, errs[1] = id(keyEOS)
	eot, err := id(keyEOT)
	errs[2] = err
	eom, err := id(keyEOM)
	errs[3] = err
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if t.eos < 0 {
		return errors.New("the file has no " + keyEOS)
	}
	for _, end := range []int{t.eos, eot, eom} {
		if end >= 0 {
			t.ends[end] = true
		}
	}
	add, said, err := f.Bool(keyAddBOS)
	if err != nil {
		return err
	}
	t.addBOS = add || !said && t.pre.addsBOS
	if t.addBOS && t.bos < 0 {
		return fmt.Errorf("a BOS token is to be added (%s, or the rule of pre-tokenizer %q), but the file has no %s", keyAddBOS, t.pre.name, keyBOS)
	}
	if t.addEOS, _, err = f.Bool(keyAddEOS); err != nil {
		return err
	}
	for id, k := range t.kinds {
		if k == kindControl && slices.Contains(endTexts, t.texts[id]) {
			t.ends[id] = true
		}
		if (t.IsSpecial(id) || k == kindUserDefined) && t.texts[id] != "" {
			first := t.texts[id][0]
			t.specials[first] = append(t.specials[first], id)
		}
	}
	for _, list := range t.specials {
		slices.SortStableFunc(list, func(a, b int) int { return len(t.texts[b]) - len(t.texts[a]) })
	}
	return nil
}

// VocabSize is the number of tokens; ids run from 0 to VocabSize-1.
func (t *Tokenizer) VocabSize() int { return len(t.texts) }

// BOS is the beginning-of-sequence token and whether the file names one.
// Whether it is put before a text is told by [Tokenizer.AddsBOS].
func (t *Tokenizer) BOS() (int, bool) { return max(t.bos, 0), t.bos >= 0 }

// AddsBOS tells whether the file's rule puts BOS before a text.
func (t *Tokenizer) AddsBOS() bool { return t.addBOS }

// EOS is the end-of-sequence token that the file names.
func (t *Tokenizer) EOS() int { return t.eos }

// IsEOG tells whether a token ends the generation: EOS, or another end token
// of the file (end of turn, end of message, or a control token known as such).
func (t *Tokenizer) IsEOG(id int) bool { return t.ends[id] }

// IsSpecial tells whether a token is a control token or the unknown token,
// which leave no text (skip_special_tokens).
func (t *Tokenizer) IsSpecial(id int) bool {
	return t.valid(id) && (t.kinds[id] == kindControl || t.kinds[id] == kindUnknown)
}

// Token is the vocabulary's own spelling of a token, such as "Ġthe", and ""
// outside the vocabulary.
func (t *Tokenizer) Token(id int) string {
	if !t.valid(id) {
		return ""
	}
	return t.texts[id]
}

// Bytes are the bytes that a token stands for; those of a special token are
// its name. nil outside the vocabulary.
func (t *Tokenizer) Bytes(id int) []byte {
	if !t.valid(id) {
		return nil
	}
	return []byte(t.bytes[id])
}

// Piece is the text of one token alone, special tokens included; bytes that
// are no UTF-8 by themselves become U+FFFD.
func (t *Tokenizer) Piece(id int) string {
	if !t.valid(id) {
		return ""
	}
	return lossy(t.bytes[id])
}

func (t *Tokenizer) valid(id int) bool { return id >= 0 && id < len(t.texts) }
