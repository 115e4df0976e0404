package coherence

import (
	"strings"
	"unicode"
)

// gluedWords: blanks are lost between words, as when a detokeniser drops them
// (triton-inference-server/tensorrtllm_backend#332). One long stretch of
// Latin small letters (a capital may begin it), since words of no language run
// that long.
var gluedWords = Check{
	Name:   "glued-words",
	About:  "a stretch of Latin small letters longer than any word",
	Unit:   "letters",
	Source: "the longest German word in use had 63 letters (Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz), the longest Turkish one has 70: alone above 70, beside a baseline above 40",
	Exempt: []Tag{TagCode, TagEncoded, TagRepeat, TagRun, TagURL},
	Gross:  true,
	run:    runGluedWords,
}

func runGluedWords(d *doc, l level) *hit {
	limit := 70
	if l == fine && !d.compounds() {
		limit = 40
	}
	for i := 0; i < len(d.r); {
		if !unicode.Is(unicode.Latin, d.r[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(d.r) && unicode.Is(unicode.Latin, d.r[j]) && unicode.IsLower(d.r[j]) {
			j++
		}
		if j-i > limit && distinct(d.r[i:j]) >= 8 {
			return &hit{"words stand without blanks", float64(j - i), float64(limit), i}
		}
		i = j
	}
	return nil
}

// compounds says whether the tags name a language other than English, in which
// words may be long.
func (d *doc) compounds() bool {
	for t := range d.tags {
		if code, ok := strings.CutPrefix(string(t), languagePrefix); ok && code != "en" {
			return true
		}
	}
	return false
}

// distinct counts kinds of letters: a scream or laughter has two or three,
// sixty letters of text have a dozen.
func distinct(r []rune) int {
	seen := map[rune]bool{}
	for _, x := range r {
		seen[x] = true
	}
	return len(seen)
}
