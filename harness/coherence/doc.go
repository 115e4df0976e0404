package coherence

import (
	"slices"
	"strings"
	"unicode"
)

// doc is a text with what several checks need of it, each part computed once.
type doc struct {
	Text
	s    string
	r    []rune
	off  []int32 // byte offset of each rune, and of the end
	base *doc    // the baseline's answer, or nil
	tags map[Tag]bool

	wordsDone  bool
	words      []word
	proseSum   []int32 // number of letters, marks and blanks before each rune
	loopsDone  bool
	tail, body loop // the longest loop at the end, and anywhere
	expected   map[script]bool

	lettersDone bool
	lettersOf   []letter
}

// word is a run of letters and marks, apostrophes inside it included.
type word struct {
	start, end int   // rune indices, end exclusive
	id         int32 // the same for words that differ in case only
	s          string
}

// newDoc prepares a text. Offsets are 32 bits: a text above 2 GiB is cut, which
// no answer reaches.
func newDoc(t Text) *doc {
	const most = 1<<31 - 1
	d := &doc{Text: t, s: t.Text, tags: make(map[Tag]bool, len(t.Tags))}
	if len(d.s) > most {
		d.s = d.s[:most]
	}
	for _, tag := range t.Tags {
		d.tags[Tag(tag)] = true
	}
	d.r = make([]rune, 0, len(d.s))
	d.off = make([]int32, 0, len(d.s)+1)
	for i, r := range d.s {
		d.r = append(d.r, r)
		d.off = append(d.off, int32(i))
	}
	d.off = append(d.off, int32(len(d.s)))
	return d
}

func (d *doc) exempt(tags []Tag) bool {
	for _, t := range tags {
		if d.tags[t] {
			return true
		}
	}
	return false
}

// split returns the words of the text. Digits are no words: numbers repeat in
// tables and counts.
func (d *doc) split() []word {
	if d.wordsDone {
		return d.words
	}
	d.wordsDone = true
	ids := map[string]int32{}
	for i := 0; i < len(d.r); {
		if !unicode.IsLetter(d.r[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(d.r) && d.inWord(j) {
			j++
		}
		s := strings.ToLower(d.s[d.off[i]:d.off[j]])
		id, ok := ids[s]
		if !ok {
			id = int32(len(ids))
			ids[s] = id
		}
		d.words = append(d.words, word{i, j, id, s})
		i = j
	}
	return d.words
}

// inWord says whether the rune at i, which is not the first, goes on a word.
func (d *doc) inWord(i int) bool {
	r := d.r[i]
	if unicode.IsLetter(r) || unicode.IsMark(r) {
		return true
	}
	return (r == '\'' || r == '’') && i+1 < len(d.r) && unicode.IsLetter(d.r[i+1]) && unicode.IsLetter(d.r[i-1])
}

// prose returns the share of letters, marks and blanks in the runes [i, j). In
// running text of any language it is about 0.95; in code, logs, tables and data
// formats it is mostly between 0.4 and 0.85, so that word statistics are not
// applied to them whether they are tagged or not.
func (d *doc) prose(i, j int) float64 {
	if d.proseSum == nil {
		d.proseSum = make([]int32, len(d.r)+1)
		for k, r := range d.r {
			d.proseSum[k+1] = d.proseSum[k]
			if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSpace(r) {
				d.proseSum[k+1]++
			}
		}
	}
	if j <= i {
		return 0
	}
	return float64(d.proseSum[j]-d.proseSum[i]) / float64(j-i)
}

// proseLimit parts running text from everything else; see prose.
const proseLimit = 0.9

// apart says whether more than a blank or a short sign stands between two
// neighbouring words: digits, code, a paragraph break.
func (d *doc) apart(a, b word) bool {
	const short = 3 // runes: ", " or " - "
	if b.start-a.end > short {
		return true
	}
	for _, r := range d.r[a.end:b.start] {
		if unicode.IsDigit(r) || strings.ContainsRune("|=<>(){}[]\\\"'`:", r) {
			return true
		}
	}
	return false
}

// end returns the length in runes without the blanks at the end.
func (d *doc) end() int {
	n := len(d.r)
	for n > 0 && unicode.IsSpace(d.r[n-1]) {
		n--
	}
	return n
}

// ruler says whether runs of r are drawn on purpose: rulers, leaders, comment
// bars, underlining, progress bars, table frames.
func ruler(r rune) bool {
	return strings.ContainsRune("-=_.*#~/+|:^\"`…·•—–¯‾", r) || r >= 0x2500 && r <= 0x259F
}

// runeAt returns the index of the rune that holds byte b.
func (d *doc) runeAt(b int) int {
	i, ok := slices.BinarySearch(d.off, int32(b))
	if !ok && i > 0 {
		i--
	}
	return i
}
