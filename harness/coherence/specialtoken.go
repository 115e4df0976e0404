package coherence

import (
	"regexp"
	"strings"
)

// specialToken: the names of tokens that no answer should show: begin and end
// marks, turn marks, padding, reserved and byte tokens, and the letters by
// which byte-level vocabularies write blanks and line breaks (Ġ, Ċ, ▁)
// (vllm#13167, vllm#14232, llama.cpp#7421).
var specialToken = Check{
	Name:   "special-token",
	About:  "the name of a special token stands in the answer and not in the prompt",
	Unit:   "occurrences",
	Source: "the special tokens of Llama, Mistral, Qwen, Gemma, DeepSeek, T5 and BERT vocabularies; measured: 5 of 43 bad texts, 0 of 49 good ones",
	Exempt: []Tag{TagSpecial},
	Gross:  true,
	run:    runSpecialToken,
}

var (
	specialName = regexp.MustCompile(`^(?:<\|[A-Za-z0-9_. -]{1,40}\|>|<｜[^<>｜\n]{1,40}｜>|</?s>|<(?:unk|pad|bos|eos|mask|eod|eop)>|` +
		`<(?:start|end)_of_(?:turn|image|text)>|\[/?INST\]|<</?SYS>>|\[(?:PAD|UNK|CLS|SEP|MASK|TOOL_CALLS|control_\d+)\]|` +
		`<(?:unused|extra_id_|reserved_special_token_|SPECIAL_)\d+>|<0x[0-9A-F]{2}>)`)
	// A marker before or after a letter: Ġ is a letter of Maltese, but there it
	// does not begin several words of one text; ▁ (U+2581) is a block element.
	pieceMarks = regexp.MustCompile(`[ĠĊ▁][a-z]{2,}`)
)

func runSpecialToken(d *doc, _ level) *hit {
	const (
		marks   = 3
		longest = 128 // bytes of a name
	)
	n, first := 0, -1
	// An anchored match at each bracket is ten times as fast as FindAll.
	for i := 0; i < len(d.s); i++ {
		if d.s[i] != '<' && d.s[i] != '[' {
			continue
		}
		m := specialName.FindStringIndex(d.s[i:min(len(d.s), i+longest)])
		if m == nil {
			continue
		}
		j := i + m[1]
		name := d.s[i:j]
		if quoted(d.s, i, j) || strings.Contains(d.Prompt, name) || struck(d.s, name, i, j) {
			continue
		}
		if n++; first < 0 {
			first = i
		}
	}
	if n > 0 {
		return &hit{"a special token stands in the answer", float64(n), 1, d.runeAt(first)}
	}
	if !strings.ContainsAny(d.s, "ĠĊ▁") {
		return nil
	}
	pieces := pieceMarks.FindAllStringIndex(d.s, -1)
	if len(pieces) >= marks && !d.tags["language:mt"] {
		return &hit{"the vocabulary's own marks for blanks stand in the answer", float64(len(pieces)), marks, d.runeAt(pieces[0][0])}
	}
	return nil
}

// quoted says whether s[i:j] stands between equal quotes or backticks: the
// answer speaks about the token.
func quoted(s string, i, j int) bool {
	return i > 0 && j < len(s) && s[i-1] == s[j] && strings.IndexByte("`'\"", s[j]) >= 0
}

// struck says whether s[i:j] is half of a pair <s>…</s> with text between:
// HTML's strike-through.
func struck(s, name string, i, j int) bool {
	const reach = 300
	switch name {
	case "<s>":
		rest := s[j:min(len(s), j+reach)]
		end := strings.Index(rest, "</s>")
		return end > 0 && !strings.Contains(rest[:end], "<s>")
	case "</s>":
		before := s[max(0, i-reach):i]
		start := strings.LastIndex(before, "<s>")
		return start >= 0 && start+len("<s>") < len(before) && !strings.Contains(before[start:], "</s>")
	}
	return false
}
