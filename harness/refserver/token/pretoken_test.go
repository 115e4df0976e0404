package token

import (
	"slices"
	"strings"
	"testing"
)

func words(p *pretokenizer, text string) []string {
	var out []string
	if text == "" {
		return out
	}
	for _, w := range p.split([]rune(text)) {
		out = append(out, string(w))
	}
	return out
}

func TestSplitLikeHuggingFace(t *testing.T) {
	for _, c := range lines[struct {
		Text  string
		Words map[string][]string
	}](t, "testdata/words.jsonl") {
		if len(c.Words) != 4 {
			t.Fatalf("%q: %d pre-tokenizers, want 4", c.Text, len(c.Words))
		}
		for name, want := range c.Words {
			p, err := newPretokenizer(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := words(p, c.Text); !slices.Equal(got, want) {
				t.Errorf("%s: %q is cut into %q, want %q", name, c.Text, got, want)
			}
		}
	}
}

// "default" cuts punctuation off before words, and digits in threes.
func TestSplitDefault(t *testing.T) {
	p, err := newPretokenizer("default")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := words(p, "it's 12345!? ok"), []string{"it", "'", "s", " ", "123", "45", "!?", " ok"}; !slices.Equal(got, want) {
		t.Errorf("cut into %q, want %q", got, want)
	}
}

func TestUnknownPretokenizer(t *testing.T) {
	_, err := New(tinyMeta().with(keyPre, "tekken").file(t))
	if err == nil || !strings.HasPrefix(err.Error(), `m.gguf: tokenizer: tokenizer.ggml.pre is "tekken", which is not implemented; known: `) ||
		!strings.Contains(err.Error(), "gpt-2, ") || !strings.Contains(err.Error(), ", smollm, ") {
		t.Errorf("error %v, want the name and the known ones", err)
	}
	if _, err := New(tinyMeta().with(keyPre, nil).file(t)); err == nil {
		t.Error("a file without a pre-tokenizer is accepted")
	}
}
