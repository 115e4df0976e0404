// Package coherence finds degenerate text: what a broken inference server says
// with HTTP status 200. It is pure, knows no network and no clock, and reads
// nothing but the text, its prompt, the prompt's tags and, where there is one,
// the known-good build's answer to the same prompt.
//
// A check is one file. Alone it judges by gross limits, which healthy models
// keep; beside a baseline it may judge by finer ones, because the baseline's
// own answer shows what is normal for the prompt, and it reports only what that
// answer is free of.
//
// Rejected: a check for false equations ("3333 + 777 = 4,010"). Small healthy
// models get sums wrong; known answers are the anchors' matter, which judge
// them as a group. Rejected too: stop-word shares over whole answers, which
// flagged 16 of 33 good texts (other languages, code, tables, short answers).
package coherence

import (
	"cmp"
	"slices"
)

// Text is one answer to judge.
type Text struct {
	Text   string
	Prompt string   // what was asked; empty when not known
	Tags   []string // what the prompt asks for; see ParseTags. Unknown ones exempt from nothing
	// Baseline is the known-good build's answer to the same prompt, nil when
	// there is none. An answer that is empty is not the same as no answer.
	Baseline *string
}

// Finding is one fault in a text.
type Finding struct {
	Check    string  `json:"check"`    // name of the check, stable
	Summary  string  `json:"summary"`  // what is wrong, without numbers
	Measured float64 `json:"measured"` // in the unit that Info.Unit names
	Limit    float64 `json:"limit"`    // the bound that was crossed
	Offset   int     `json:"offset"`   // byte offset into the text at which the evidence starts
	Excerpt  string  `json:"excerpt"`  // the evidence, at most 80 runes, control characters escaped
}

// Check is one rule over a text.
type Check struct {
	Name   string
	About  string // what it catches
	Unit   string // of Measured and Limit
	Source string // where the limit comes from
	Exempt []Tag  // tags that switch it off
	Gross  bool   // works without a baseline
	run    func(d *doc, l level) *hit
}

// level says by which limits a check judges.
type level int

const (
	gross level = iota // no healthy model crosses them on an ordinary prompt
	fine               // for use beside a baseline
)

// hit is what a check found; at and the excerpt's start are rune indices.
type hit struct {
	summary         string
	measured, limit float64
	at              int
}

// Info describes a check for documentation.
type Info struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Unit   string `json:"unit"`
	Source string `json:"source"`
	Exempt []Tag  `json:"exempt"`
	Gross  bool   `json:"gross"` // false: needs a baseline
}

// registry lists every check, sorted by name.
var registry = []Check{
	blankFlood, blankTail, charFlood, charRun, compression, control,
	doubledWords, empty, fewWords, fragments, gluedWords, loopFlood, mojibake,
	oneCharacter, periodLoop, promptEcho, repeatedText, replacement,
	scriptChange, scriptDrift, scriptSalad, specialToken, strayTag, stutter, symbolSoup,
	wordLoop, wordSalad,
}

// Checks describes every check, sorted by name.
func Checks() []Info {
	out := make([]Info, len(registry))
	for i, c := range registry {
		out[i] = Info{c.Name, c.About, c.Unit, c.Source, slices.Clone(c.Exempt), c.Gross}
	}
	return out
}

// Run judges one text and returns its faults sorted by check, at most one a
// check; nil when there is none. Time is linear in the length of the text.
func Run(t Text) []Finding {
	d := newDoc(t)
	var base *doc
	if t.Baseline != nil {
		base = newDoc(Text{Text: *t.Baseline, Prompt: t.Prompt, Tags: t.Tags})
		d.base = base
	}
	var out []Finding
	for _, c := range registry {
		if d.exempt(c.Exempt) {
			continue
		}
		h := judge(c, d, base)
		if h == nil {
			continue
		}
		out = append(out, Finding{
			Check: c.Name, Summary: h.summary, Measured: h.measured, Limit: h.limit,
			Offset: int(d.off[h.at]), Excerpt: excerpt(d.s[d.off[h.at]:]),
		})
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Check, b.Check), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}

// judge runs one check. Like is held against like: a gross fault is excused
// only by a gross fault of the baseline, so that a baseline which is mildly
// repetitive does not hide a candidate that does nothing but repeat.
func judge(c Check, d, base *doc) *hit {
	if base == nil {
		if !c.Gross {
			return nil
		}
		return c.run(d, gross)
	}
	if c.Gross {
		if h := c.run(d, gross); h != nil && c.run(base, gross) == nil {
			return h
		}
	}
	if h := c.run(d, fine); h != nil && c.run(base, fine) == nil {
		return h
	}
	return nil
}
