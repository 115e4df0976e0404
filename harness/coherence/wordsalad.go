package coherence

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// wordSalad: running text loses its grammar: after sentences with articles and
// prepositions come words and words without any. Only Latin texts that began in
// one of the listed languages are judged, so that other languages, lists of
// words and code are left alone.
var wordSalad = Check{
	Name:   "word-salad",
	About:  "after proper sentences, 60 words in a row without one function word",
	Unit:   "words",
	Source: "a third of the words of English, German, French, Spanish, Italian, Portuguese and Dutch prose is in the lists; 60 in a row without one has probability (2/3)^60 < 1e-10",
	Exempt: []Tag{TagArt, TagCode, TagDigits, TagEncoded, TagJSON, TagList, TagLog, TagMarkup, TagNotation, TagRepeat, TagRun, TagTable, TagVerse},
	Gross:  true,
	run:    runWordSalad,
}

var functionWords = sync.OnceValue(func() map[string]bool {
	const all = `the of and to a an in is it that was for on are as with his they at be this from have or by one had not but what all were when we there can your which their if will each how them then she he you i
der die das und ist nicht ein eine einen zu den von mit sich des auf für im dem auch es an werden aus er hat dass sie nach wird bei wie
le la les de des et un une est que qui dans du pour pas en au par sur ne se il elle avec plus ce sont
el los las y en un una es que del por con para no se su al lo como más
il lo gli e di un una è che non per con del della si le in sono da
o os as um uma e do da de em que não para com por se no na
het een en van is dat niet op te zijn met voor er aan ook als`
	m := map[string]bool{}
	for _, w := range strings.Fields(all) {
		m[w] = true
	}
	return m
})

func runWordSalad(d *doc, _ level) *hit {
	const (
		limit   = 60
		before  = 20  // words of proper text that must come first
		grammar = 0.2 // their share of function words; tt-xla asks for 0.10
		apart   = 0.3 // more signs or line breaks between words make a list, a table or code
	)
	if d.foreign() {
		return nil
	}
	known := functionWords()
	w := d.split()
	start, function, separated := 0, 0, 0
	for i := range w {
		if known[w[i].s] {
			function++
		}
		if known[w[i].s] || !unicode.Is(unicode.Latin, d.r[w[i].start]) {
			start, separated = i+1, 0
			continue
		}
		if i > start && strings.Trim(d.s[d.off[w[i-1].end]:d.off[w[i].start]], " -") != "" {
			separated++
		}
		n := i + 1 - start
		if n < limit || start < before || float64(function) < grammar*float64(start) || float64(separated) > apart*float64(n) {
			continue
		}
		if d.prose(w[start].start, w[i].end) < proseLimit {
			continue
		}
		return &hit{"sentences turn into loose words", float64(n), limit, w[start].start}
	}
	return nil
}

// foreign says whether the tags name a language whose function words are not
// listed.
func (d *doc) foreign() bool {
	for t := range d.tags {
		code, ok := strings.CutPrefix(string(t), languagePrefix)
		if ok && !slices.Contains([]string{"en", "de", "fr", "es", "it", "pt", "nl"}, code) {
			return true
		}
	}
	return false
}
