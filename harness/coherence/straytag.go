package coherence

import (
	"regexp"
	"strings"
)

// strayTag: a closing HTML tag that nothing opened, in the middle of text. On
// real vLLM the tiny model with its attention lost says "The train leaves the
// home page.</p>" to every question: fluent, short, and free of loops. Models
// without instruction tuning may do so in health, hence only beside a baseline.
// Names that are no HTML are left out: servers that open <think> in the prompt
// send a lone </think>.
var strayTag = Check{
	Name:   "stray-tag",
	About:  "a closing HTML tag whose opening tag is in neither the answer nor the prompt",
	Unit:   "tags",
	Source: "definition of HTML; a public answer of a broken build (reports.md: web junk)",
	Exempt: []Tag{TagCode, TagJSON, TagMarkup, TagSpecial},
	run:    runStrayTag,
}

var closingTag = regexp.MustCompile(`(?i)</(a|b|body|code|dd|div|dl|dt|em|font|form|h[1-6]|head|html|i|li|ol|option|p|pre|script|select|span|strong|style|sub|sup|table|tbody|td|th|thead|title|tr|tt|u|ul)>`)

func runStrayTag(d *doc, _ level) *hit {
	n, first := 0, -1
	var open map[string]bool
	for _, m := range closingTag.FindAllStringSubmatchIndex(d.s, -1) {
		if open == nil {
			open = openTags(d.Prompt, d.s)
		}
		if open[strings.ToLower(d.s[m[2]:m[3]])] || quoted(d.s, m[0], m[1]) {
			continue
		}
		if n++; first < 0 {
			first = m[0]
		}
	}
	if n == 0 {
		return nil
	}
	return &hit{"a tag is closed that nothing opened", float64(n), 1, d.runeAt(first)}
}

var openingTag = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9]*)`)

// openTags returns the names of the tags that the texts open, in small letters.
func openTags(texts ...string) map[string]bool {
	open := map[string]bool{}
	for _, s := range texts {
		for _, m := range openingTag.FindAllStringSubmatch(s, -1) {
			open[strings.ToLower(m[1])] = true
		}
	}
	return open
}
