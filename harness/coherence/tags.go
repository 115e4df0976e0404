package coherence

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"
)

// Tag says what a prompt asks for, so that an answer which contains it is not
// taken for a fault. A tag exempts from the checks that name it in their
// Exempt list, and from no others. The vocabulary is closed: a new tag is added
// here, with the checks that it exempts from.
type Tag string

// The tags. Code that ends in two hundred exclamation marks is bad: no tag but
// TagRun exempts from char-flood, and TagCode exempts from no check of runs.
const (
	TagArt       Tag = "art"       // a drawing or ornament made of characters
	TagCode      Tag = "code"      // source text, patches, regular expressions, shell
	TagDigits    Tag = "digits"    // long numbers, number sequences, matrices
	TagEmoji     Tag = "emoji"     // many emoji
	TagEncoded   Tag = "encoded"   // base64, hex, hashes, DNA, Morse, a cipher
	TagJSON      Tag = "json"      // JSON or a like data format
	TagList      Tag = "list"      // bullets, words in a row
	TagLog       Tag = "log"       // log lines, terminal output
	TagMarkup    Tag = "markup"    // HTML, XML, LaTeX
	TagNotation  Tag = "notation"  // chess, music, chemistry, formulas
	TagReasoning Tag = "reasoning" // thinking aloud, which says things again
	TagRepeat    Tag = "repeat"    // the prompt asks for words or lines again and again
	TagRun       Tag = "run"       // the prompt asks for a run of one character
	TagShort     Tag = "short"     // the answer is a word or a sign
	TagSpecial   Tag = "special"   // the prompt is about special tokens or odd characters
	TagTable     Tag = "table"     // a table, also one drawn with lines
	TagURL       Tag = "url"       // addresses
	TagVerse     Tag = "verse"     // poem, song, refrain
)

const (
	scriptPrefix   = "script:"   // a script's Unicode name: script:Thai; script:mixed for several
	languagePrefix = "language:" // an ISO 639 code: language:de
	mixed          = "mixed"
)

// TagScriptMixed says that the answer mixes scripts.
const TagScriptMixed Tag = scriptPrefix + mixed

// TagInfo describes one tag for documentation.
type TagInfo struct {
	Tag   Tag    `json:"tag"`
	About string `json:"about"`
}

// Vocabulary lists the tags in order. The last two stand for families.
func Vocabulary() []TagInfo {
	return []TagInfo{
		{TagArt, "a drawing or ornament made of characters"},
		{TagCode, "source text, patches, regular expressions, shell"},
		{TagDigits, "long numbers, number sequences, matrices"},
		{TagEmoji, "many emoji"},
		{TagEncoded, "base64, hex, hashes, DNA, Morse, a cipher"},
		{TagJSON, "JSON or a like data format"},
		{TagList, "bullets, words in a row"},
		{TagLog, "log lines, terminal output"},
		{TagMarkup, "HTML, XML, LaTeX"},
		{TagNotation, "chess, music, chemistry, formulas"},
		{TagReasoning, "thinking aloud, which says things again"},
		{TagRepeat, "words or lines again and again"},
		{TagRun, "a run of one character"},
		{TagShort, "a word or a sign"},
		{TagSpecial, "special tokens or odd characters are the subject"},
		{TagTable, "a table, also one drawn with lines"},
		{TagURL, "addresses"},
		{TagVerse, "poem, song, refrain"},
		{scriptPrefix + "<Name>", "letters of this script (Unicode name, or mixed)"},
		{languagePrefix + "<xx>", "words of this language (ISO 639 code)"},
	}
}

// ParseTags checks tags against the closed vocabulary and returns them sorted,
// each once. The error names the first unknown tag and the fix.
func ParseTags(tags []string) ([]Tag, error) {
	out := make([]Tag, 0, len(tags))
	for _, s := range tags {
		if err := ValidTag(s); err != nil {
			return nil, err
		}
		out = append(out, Tag(s))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ValidTag says what is wrong with one tag, or nil.
func ValidTag(s string) error {
	if name, ok := strings.CutPrefix(s, scriptPrefix); ok {
		if _, known := unicode.Scripts[name]; !known && name != mixed {
			return fmt.Errorf("tag %q: no script has the Unicode name %q (write e.g. script:Thai, script:Han, script:mixed)", s, name)
		}
		return nil
	}
	if code, ok := strings.CutPrefix(s, languagePrefix); ok {
		if _, err := language.ParseBase(code); err != nil || code != strings.ToLower(code) {
			return fmt.Errorf("tag %q: %q is no ISO 639 language code (write e.g. language:de)", s, code)
		}
		return nil
	}
	var names []string
	for _, t := range Vocabulary() {
		if string(t.Tag) == s && !strings.Contains(s, "<") {
			return nil
		}
		names = append(names, string(t.Tag))
	}
	return fmt.Errorf("unknown tag %q: use one of %s", s, strings.Join(names, ", "))
}
