package coherence

import "unicode"

// empty: an answer without a visible sign. Public reports: vllm#50021 (a third
// of the answers under load), vllm#11089, vllm#41902.
var empty = Check{
	Name:   "empty",
	About:  "no visible character",
	Unit:   "visible characters",
	Source: "definition",
	Gross:  true,
	run:    runEmpty,
}

func runEmpty(d *doc, _ level) *hit {
	for _, r := range d.r {
		if visible(r) {
			return nil
		}
	}
	return &hit{summary: "the answer has no visible character", measured: 0, limit: 1}
}

// visible leaves out blanks, controls and format signs (zero-width space, byte
// order mark). U+FFFD and private use count as visible.
func visible(r rune) bool {
	if r > ' ' && r < 0x7F {
		return true
	}
	return !unicode.IsSpace(r) && !unicode.Is(unicode.Cc, r) && !unicode.Is(unicode.Cf, r)
}
