package token

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The truth test: the 13 prompts of the model's expected log-probabilities.
func TestExpectedPrompts(t *testing.T) {
	f, tok := openTiny(t)
	template, err := NewTemplate(f, tok)
	if err != nil {
		t.Fatal(err)
	}
	prompts := lines[struct {
		Text     string
		Messages []Message
		IDs      []int
	}](t, "testdata/expected.jsonl")
	if len(prompts) != 13 {
		t.Fatalf("%d prompts, want 13", len(prompts))
	}
	for _, p := range prompts {
		ids := tok.Encode(p.Text, true, false)
		if p.Messages != nil {
			if ids, err = template.EncodeChat(p.Messages, true); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(ids, p.IDs) {
			t.Errorf("%q%v: ids %v, want %v", p.Text, p.Messages, ids, p.IDs)
		}
	}
}

func TestEncodeLikeHuggingFace(t *testing.T) {
	_, tok := openTiny(t)
	for _, c := range lines[encoded](t, "testdata/tiny.jsonl") {
		if ids := tok.Encode(c.Text, true, true); !slices.Equal(ids, c.IDs) {
			t.Errorf("%q: ids %v, want %v", c.Text, ids, c.IDs)
		}
		if text := tok.Decode(c.IDs); text != c.Decoded {
			t.Errorf("%v decodes to %q, want %q", c.IDs, text, c.Decoded)
		}
	}
}

func TestEncodeSmolLM2LikeHuggingFace(t *testing.T) {
	path := os.Getenv("TOUCHSTONE_SMOLLM2")
	if path == "" {
		t.Skip("TOUCHSTONE_SMOLLM2 names no SmolLM2-135M-Instruct.Q4_1.gguf")
	}
	_, tok := open(t, path)
	for _, c := range lines[encoded](t, "testdata/smollm2.jsonl") {
		if ids := tok.Encode(c.Text, true, true); !slices.Equal(ids, c.IDs) {
			t.Errorf("%q: ids %v, want %v", c.Text, ids, c.IDs)
		}
		if text := tok.Decode(c.IDs); text != c.Decoded {
			t.Errorf("%v decodes to %q, want %q", c.IDs, text, c.Decoded)
		}
	}
	if tok.VocabSize() != 49152 || tok.EOS() != 2 || tok.AddsBOS() || !tok.IsEOG(0) || !tok.IsEOG(2) || tok.IsEOG(1) {
		t.Errorf("vocabulary %d, EOS %d, adds BOS %v, EOG of 0, 2, 1: %v %v %v",
			tok.VocabSize(), tok.EOS(), tok.AddsBOS(), tok.IsEOG(0), tok.IsEOG(2), tok.IsEOG(1))
	}
}

// Merges go by rank, not from left to right: "h e" before "he l".
func TestMergeOrder(t *testing.T) {
	tok := tinyMeta().tokenizer(t)
	wantIDs(t, "hello", tok.Encode("hello", false, false), 257, int('l'), int('o'))
	wantIDs(t, "hhehe", tok.Encode("hhehe", false, false), int('h'), 256, 256)
	// With "e l" first, "hel" is never reached: h + el.
	late := tinyMeta()
	late[keyTokens] = append(late[keyTokens].([]string), "el")
	late[keyTypes] = append(late[keyTypes].([]int32), 1)
	late[keyMerges] = []string{"e l", "h e", "he l"}
	wantIDs(t, "hel", late.tokenizer(t).Encode("hel", false, false), int('h'), 263)
}

func TestBOSAndEOSRules(t *testing.T) {
	h := int('h')
	for _, c := range []struct {
		what string
		m    meta
		want []int
	}{
		{"add BOS", tinyMeta(), []int{258, h}},
		{"add none", tinyMeta().with(keyAddBOS, false), []int{h}},
		{"unsaid, gpt-2", tinyMeta().with(keyAddBOS, nil), []int{h}},
		{"unsaid, llama-bpe", tinyMeta().with(keyAddBOS, nil).with(keyPre, "llama-bpe"), []int{258, h}},
		{"add both", tinyMeta().with("tokenizer.ggml.add_eos_token", true), []int{258, h, 259}},
	} {
		tok := c.m.tokenizer(t)
		wantIDs(t, c.what, tok.Encode("h", true, false), c.want...)
		wantIDs(t, c.what+", not asked", tok.Encode("h", false, false), h)
	}
	wantIDs(t, "empty text", tinyMeta().tokenizer(t).Encode("", true, true), 258)
}

func TestSpecialTokensInText(t *testing.T) {
	m := tinyMeta()
	m[keyTokens] = append(m[keyTokens].([]string), "<s>!")
	m[keyTypes] = append(m[keyTypes].([]int32), 3)
	tok := m.tokenizer(t)
	wantIDs(t, "parsed", tok.Encode("h<s>h<unk>", false, true), int('h'), 258, int('h'), 261)
	wantIDs(t, "the longest wins", tok.Encode("<s>!", false, true), 263)
	wantIDs(t, "not parsed", tok.Encode("<s>", false, false), int('<'), int('s'), int('>'))
	wantIDs(t, "user-defined, always", tok.Encode("h<|x|>", false, false), int('h'), 260)
	wantIDs(t, "unused, never", tok.Encode("[PAD]", false, true), '[', 'P', 'A', 'D', ']')
}

// A llama-bpe word that is a token is taken whole, even where the merges would
// lead elsewhere.
func TestWholeWords(t *testing.T) {
	m := tinyMeta().with(keyPre, "llama-bpe").with(keyMerges, []string{"h e"})
	wantIDs(t, "hel", m.tokenizer(t).Encode("hel", false, false), 257)
	m = tinyMeta().with(keyPre, "dbrx").with(keyMerges, []string{"h e"})
	wantIDs(t, "hel, by merges", m.tokenizer(t).Encode("hel", false, false), 256, 'l')
}

func TestBytesWithoutToken(t *testing.T) {
	m := tinyMeta()
	m[keyTokens].([]string)['q'] = "no byte"
	tok := m.tokenizer(t)
	wantIDs(t, "hqe", tok.Encode("hqe", false, false), 256)
	wantIDs(t, "q", tok.Encode("q", false, false))
	wantIDs(t, "not UTF-8", tok.Encode("\xff", false, false), 0xef, 0xbf, 0xbd)
}

func BenchmarkEncode(b *testing.B) {
	_, tok := openTiny(b)
	guide := strings.Repeat("Write a guide to a basic web application with Python and Flask: set-up, routes, templates, deployment. ", 12)
	for name, text := range map[string]string{
		"prompt":   "Explain how to create a small website with Flask, from setup to deployment.",
		"guide":    guide,
		"one-word": strings.Repeat("abcdefgh", 8192),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			tokens := 0
			for b.Loop() {
				tokens += len(tok.Encode(text, true, true))
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}

// slowly merges a word by the definition: the lowest rank first, the leftmost
// of equals, until nothing is left to merge.
func slowly(t *Tokenizer, word string) []int {
	ids := make([]int, len(word))
	for i := range len(word) {
		ids[i] = t.byteIDs[word[i]]
	}
	for {
		at, best := -1, merge{}
		for i := range len(ids) - 1 {
			if m, ok := t.merges[pair{int32(ids[i]), int32(ids[i+1])}]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, int(best.id))
	}
}

func TestMergesByDefinition(t *testing.T) {
	_, tok := openTiny(t)
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aeinorsth ")), 1, 60, -1)
	rapid.Check(t, func(t *rapid.T) {
		word := letters.Draw(t, "word")
		var m merger
		if got, want := m.appendWord(tok, nil, word), slowly(tok, word); !slices.Equal(got, want) {
			t.Fatalf("%q: ids %v, want %v", word, got, want)
		}
	})
}
