package coherence

import (
	"strings"
	"unicode/utf8"
)

// promptEcho: the answer begins with the whole prompt, as when the detokeniser
// is primed with it (vllm#48853), or echo is on by mistake.
var promptEcho = Check{
	Name:   "prompt-echo",
	About:  "the answer begins with the whole prompt",
	Unit:   "characters",
	Source: "models restate short questions; alone from 100 characters on, beside a baseline from 40",
	Exempt: []Tag{TagCode, TagEncoded, TagRepeat, TagRun},
	Gross:  true,
	run:    runPromptEcho,
}

func runPromptEcho(d *doc, l level) *hit {
	limit := 100
	if l == fine {
		limit = 40
	}
	p := strings.TrimSpace(d.Prompt)
	n := utf8.RuneCountInString(p)
	if n < limit || !strings.HasPrefix(strings.TrimSpace(d.s), p) {
		return nil
	}
	return &hit{"the answer begins with the prompt", float64(n), float64(limit), 0}
}
