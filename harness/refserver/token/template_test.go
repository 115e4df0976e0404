package token

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func (m meta) template(t testing.TB, source string) *Template {
	t.Helper()
	f := m.with(keyTemplate, source).file(t)
	tok, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	template, err := NewTemplate(f, tok)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestRenderLikeJinja2(t *testing.T) {
	data, err := os.ReadFile("testdata/templates.json")
	if err != nil {
		t.Fatal(err)
	}
	var templates []struct {
		Name, Template string
		Chats          []struct {
			Messages            []Message
			AddGenerationPrompt bool `json:"add_generation_prompt"`
			Text                string
			Raised              string
		}
	}
	if err := json.Unmarshal(data, &templates); err != nil || len(templates) == 0 {
		t.Fatalf("%d templates, %v", len(templates), err)
	}
	for _, c := range templates {
		template := tinyMeta().template(t, c.Template)
		for _, chat := range c.Chats {
			text, err := template.Render(chat.Messages, chat.AddGenerationPrompt)
			var raised *RaisedError
			switch {
			case chat.Raised != "" && (!errors.As(err, &raised) || raised.Message != chat.Raised):
				t.Errorf("%s, %v: error %v, want %q raised", c.Name, chat.Messages, err, chat.Raised)
			case chat.Raised == "" && (err != nil || text != chat.Text):
				t.Errorf("%s, %v, %v: %v\n got %q\nwant %q", c.Name, chat.Messages, chat.AddGenerationPrompt, err, text, chat.Text)
			}
		}
	}
}

// The list of known answers counts prompt tokens with the template.
func TestPromptTokens(t *testing.T) {
	f, tok := openTiny(t)
	template, err := NewTemplate(f, tok)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range lines[struct {
		Prompt string
		Tokens int `json:"prompt_tokens"`
	}](t, "testdata/knows.jsonl") {
		ids, err := template.EncodeChat([]Message{{"user", c.Prompt}}, true)
		if err != nil || len(ids) != c.Tokens {
			t.Errorf("%q: %d tokens, %v; want %d", c.Prompt, len(ids), err, c.Tokens)
		}
	}
}

func TestOneBOS(t *testing.T) {
	chat := []Message{{"user", "h"}}
	for _, c := range []struct {
		what, source string
		m            meta
		want         []int
	}{
		{"template and rule", "{{ bos_token }}{{ messages[0].content }}", tinyMeta(), []int{258, 'h'}},
		{"rule alone", "{{ messages[0].content }}", tinyMeta(), []int{258, 'h'}},
		{"template alone", "{{ bos_token }}{{ messages[0].content }}", tinyMeta().with(keyAddBOS, false), []int{258, 'h'}},
		{"neither", "{{ messages[0].content }}", tinyMeta().with(keyAddBOS, false), []int{'h'}},
		{"no EOS by the rule", "{{ messages[0].content }}", tinyMeta().with(keyAddEOS, true), []int{258, 'h'}},
	} {
		ids, err := c.m.template(t, c.source).EncodeChat(chat, true)
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, c.what, ids, c.want...)
	}
}

func TestTemplateErrors(t *testing.T) {
	f := tinyMeta().file(t)
	tok := tinyMeta().tokenizer(t)
	if _, err := NewTemplate(f, tok); !errors.Is(err, ErrNoTemplate) || !strings.HasPrefix(err.Error(), "m.gguf: ") {
		t.Errorf("no template: %v", err)
	}
	if _, err := NewTemplate(tinyMeta().with(keyTemplate, uint32(1)).file(t), tok); err == nil || errors.Is(err, ErrNoTemplate) {
		t.Errorf("a template that is a number: %v", err)
	}
	if _, err := NewTemplate(tinyMeta().with(keyTemplate, "{% for %}").file(t), tok); err == nil || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("bad syntax: %v", err)
	}
	var raised *RaisedError
	if _, err := tinyMeta().template(t, "{{ messages | tojson }}").Render(nil, true); err == nil || !strings.Contains(err.Error(), "tojson of anything but a string") {
		t.Errorf("tojson of messages: %v", err)
	}
	if _, err := tinyMeta().template(t, "{{ nothing() }}").Render(nil, true); err == nil || errors.As(err, &raised) || !strings.HasPrefix(err.Error(), "m.gguf: tokenizer.chat_template: ") {
		t.Errorf("a template that calls what is not there: %v", err)
	}
}

// A template comes with the model's file and must reach no other.
func TestTemplateReadsNoFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"{% include '" + secret + "' %}", "{% extends '" + secret + "' %}", "{% import '" + secret + "' as x %}{{ x }}"} {
		f := tinyMeta().with(keyTemplate, source).file(t)
		template, err := NewTemplate(f, tinyMeta().tokenizer(t))
		if err != nil {
			continue
		}
		if text, err := template.Render([]Message{{"user", "h"}}, true); err == nil {
			t.Errorf("%s renders %q", source, text)
		}
	}
}

func TestTemplateConcurrently(t *testing.T) {
	f, tok := openTiny(t)
	template, err := NewTemplate(f, tok)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			content := strings.Repeat("x", i+1)
			for range 20 {
				text, err := template.Render([]Message{{"user", content}}, true)
				if want := "<s><|user|>" + content + "</s><|assistant|>"; err != nil || text != want {
					t.Errorf("%q, %v; want %q", text, err, want)
				}
				if got := tok.DecodeAll(tok.Encode(text, false, true)); got != text {
					t.Errorf("%q comes back as %q", text, got)
				}
			}
		})
	}
	wg.Wait()
}
