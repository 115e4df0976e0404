package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"touchstone/harness/coherence"
)

type checkCmd struct {
	Texts string `arg:"" help:"JSONL file, a line {id, text, baseline?, prompt?, tags?}; - is standard input."`
}

// Run judges texts. Standard output holds one JSON line a text and nothing
// else.
func (c *checkCmd) Run(a *app) error {
	in, name := a.stdin, "standard input"
	if c.Texts != "-" {
		f, err := os.Open(c.Texts)
		if err != nil {
			return usage("name a JSONL file, or - for standard input", "the texts could not be read: %w", err)
		}
		defer f.Close() //nolint:errcheck // nothing was written
		in, name = f, c.Texts
	}
	lines, err := coherence.ReadTexts(in, name)
	if err != nil {
		return usage(`a line is {"id": "…", "text": "…"}, with "baseline", "prompt" and "tags" where there are any`, "%w", err)
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	bad := 0
	for _, l := range lines {
		r := coherence.Judge(l)
		if r.Verdict != coherence.OK {
			bad++
		}
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(a.stderr, fmt.Sprintf("touchstone: %s read, %d bad\n", plural(len(lines), "text"), bad)); err != nil {
		return err
	}
	if bad > 0 {
		return exited(1)
	}
	return nil
}
