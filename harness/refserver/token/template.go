package token

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"

	"touchstone/harness/refserver/gguf"
)

// Message is one message of a chat.
type Message struct{ Role, Content string }

// ErrNoTemplate says that the file has no chat template.
var ErrNoTemplate = errors.New("the model's file has no chat template (" + keyTemplate + "); ask it by /v1/completions")

// A RaisedError is the template's own refusal of the messages
// (raise_exception), such as roles that do not alternate.
type RaisedError struct{ Message string }

func (e *RaisedError) Error() string { return "the chat template refuses the messages: " + e.Message }

// A Template is the chat template of a file. It is safe for concurrent use.
type Template struct {
	file     string
	tok      *Tokenizer
	compiled *exec.Template
}

// templatePath is the name of the template within its loader, which holds no
// other: include and import reach no file of the machine.
const templatePath = "/chat_template"

// NewTemplate compiles the chat template of a file (Jinja, by gonja). Blocks are
// trimmed as Hugging Face does for chat templates (trim_blocks, lstrip_blocks).
// A file without one gives ErrNoTemplate.
func NewTemplate(f *gguf.File, tok *Tokenizer) (*Template, error) {
	source, ok, err := f.String(keyTemplate)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNoTemplate)
	}
	loader, err := loaders.NewMemoryLoader(map[string]string{templatePath: source})
	if err != nil {
		return nil, err
	}
	cfg := config.New()
	cfg.TrimBlocks, cfg.LeftStripBlocks = true, true
	compiled, err := exec.NewTemplate(templatePath, cfg, loader, jinja)
	if err != nil {
		return nil, fmt.Errorf("%s: %s does not compile: %w", f.Name(), keyTemplate, err)
	}
	return &Template{file: f.Name(), tok: tok, compiled: compiled}, nil
}

// Render returns the text of a chat; addGenerationPrompt opens the assistant's
// answer. A *RaisedError is the client's fault, any other error the template's.
// There is no strftime_now: templates fall back to a fixed date, so that the
// same chat gives the same tokens every day.
func (t *Template) Render(messages []Message, addGenerationPrompt bool) (string, error) {
	all := make(list, len(messages))
	for i, m := range messages {
		all[i] = map[string]any{"role": m.Role, "content": m.Content}
	}
	bos := ""
	if id, ok := t.tok.BOS(); ok {
		bos = t.tok.Token(id)
	}
	var raised *RaisedError
	text, err := t.compiled.ExecuteToString(exec.NewContext(map[string]any{
		"messages":              all,
		"add_generation_prompt": addGenerationPrompt,
		"bos_token":             bos,
		"eos_token":             t.tok.Token(t.tok.EOS()),
		"raise_exception": func(message string) (string, error) {
			raised = &RaisedError{message}
			return "", raised
		},
	}))
	switch {
	case raised != nil: // gonja's wrapping loses the type
		return "", raised
	case err != nil:
		return "", fmt.Errorf("%s: %s: %w", t.file, keyTemplate, err)
	}
	return text, nil
}

// EncodeChat returns the token ids of a chat. Templates write BOS themselves;
// where one does not and the file's rule asks for BOS, it is put before, so
// there is always one and never two. (vLLM adds none in that case, llama.cpp
// does; a model trained with BOS needs it.) Names of special tokens within a
// message stand for those tokens, as in both servers.
func (t *Template) EncodeChat(messages []Message, addGenerationPrompt bool) ([]int, error) {
	text, err := t.Render(messages, addGenerationPrompt)
	if err != nil {
		return nil, err
	}
	ids := t.tok.Encode(text, false, true)
	if t.tok.addBOS && (len(ids) == 0 || ids[0] != t.tok.bos) {
		ids = slices.Insert(ids, 0, t.tok.bos)
	}
	return ids, nil
}
