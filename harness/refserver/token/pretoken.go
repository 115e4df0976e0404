package token

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dlclark/regexp2"
)

// The patterns that cut a text into words before the merges run. They are
// those of the models' tokenizer.json; their look-aheads are why the standard
// regexp package does not do. Where case is ignored, ſ (U+017F) is an s too:
// Unicode folds it so, regexp2 does not.
const (
	digit      = `\p{N}`
	gpt2Words  = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llamaWords = `(?i:'s|'ſ|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenWords  = `(?i:'s|'ſ|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// rule says how the texts of one family of models are cut.
type rule struct {
	// patterns are applied one after the other: what one matches and what lies
	// between its matches are pieces for the next.
	patterns []string
	// wholeWords: a word that is a token is taken whole, without merging
	// (ignore_merges in tokenizer.json).
	wholeWords bool
	// addsBOS is the BOS rule of files that state none.
	addsBOS bool
}

var (
	gpt2Rule  = rule{patterns: []string{gpt2Words}}
	digitRule = rule{patterns: []string{digit, gpt2Words}}
	llamaRule = rule{patterns: []string{llamaWords}, wholeWords: true, addsBOS: true}
	qwenRule  = rule{patterns: []string{qwenWords}}
	// defaultRule is llama.cpp's, for files that call their pre-tokenizer so.
	defaultRule = rule{patterns: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2Words, `\p{N}+`, `[0-9][0-9][0-9]`}}
)

// rules holds the pre-tokenizers by the names that convert_hf_to_gguf.py
// writes. Names that need anything else are left out rather than approximated.
var rules = map[string]rule{
	"gpt-2": gpt2Rule, "phi-2": gpt2Rule, "mpt": gpt2Rule, "olmo": gpt2Rule, "exaone4": gpt2Rule, "trillion": gpt2Rule,
	"smollm": digitRule, "starcoder": digitRule, "refact": digitRule, "command-r": digitRule, "codeshell": digitRule,
	"exaone": digitRule, "minerva-7b": digitRule,
	"llama-bpe": llamaRule, "llama3": llamaRule, "llama-v3": llamaRule, "falcon3": llamaRule, "pixtral": llamaRule, "lfm2": llamaRule,
	"dbrx": {patterns: []string{llamaWords}}, "smaug-bpe": {patterns: []string{llamaWords}},
	"qwen2": qwenRule, "deepseek-r1-qwen": qwenRule, "stablelm2": qwenRule, "megrez": qwenRule, "hunyuan": qwenRule,
	"default": defaultRule,
}

// pretokenizer is a compiled rule.
type pretokenizer struct {
	rule
	name     string
	compiled []*regexp2.Regexp
}

func newPretokenizer(name string) (*pretokenizer, error) {
	r, ok := rules[name]
	if !ok {
		return nil, fmt.Errorf("%s is %q, which is not implemented; known: %s",
			keyPre, name, strings.Join(slices.Sorted(maps.Keys(rules)), ", "))
	}
	p := &pretokenizer{rule: r, name: name}
	for _, pattern := range r.patterns {
		p.compiled = append(p.compiled, regexp2.MustCompile(pattern, regexp2.None))
	}
	return p, nil
}

// split cuts text into words; their concatenation is text. Bytes that are no
// UTF-8 have been replaced before.
func (p *pretokenizer) split(text []rune) [][]rune {
	pieces := [][]rune{text}
	for _, re := range p.compiled {
		var next [][]rune
		for _, piece := range pieces {
			next = appendSplit(next, re, piece)
		}
		pieces = next
	}
	return pieces
}

// appendSplit appends the matches in text and what lies between them.
func appendSplit(pieces [][]rune, re *regexp2.Regexp, text []rune) [][]rune {
	end := 0
	// The only error is a match time-out, and none is set.
	for m, err := re.FindRunesMatch(text); m != nil && err == nil; m, err = re.FindNextMatch(m) {
		if m.Index > end {
			pieces = append(pieces, text[end:m.Index])
		}
		end = m.Index + m.Length
		pieces = append(pieces, text[m.Index:end])
	}
	if end < len(text) {
		pieces = append(pieces, text[end:])
	}
	return pieces
}
