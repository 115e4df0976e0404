package coherence

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// script is a writing system, as an index into scriptNames; 0 is none (signs,
// digits, marks that all scripts share).
type script uint8

type scriptRange struct {
	lo, hi rune
	s      script
}

// scriptTable lists all ranges of all scripts in order, and the scripts' names.
// Japanese is written in Han, Hiragana and Katakana side by side and Bopomofo
// annotates Han, so that these four count as one, under the name Han.
var scriptTable = sync.OnceValues(func() ([]scriptRange, []string) {
	names := []string{""}
	index := map[string]script{}
	var all []string
	for name := range unicode.Scripts {
		all = append(all, name)
	}
	slices.Sort(all)
	var ranges []scriptRange
	for _, name := range all {
		if name == "Common" || name == "Inherited" {
			continue
		}
		key := family(name)
		s, ok := index[key]
		if !ok {
			s = script(len(names))
			index[key] = s
			names = append(names, key)
		}
		t := unicode.Scripts[name]
		add := func(lo, hi, stride rune) {
			if stride == 1 {
				ranges = append(ranges, scriptRange{lo, hi, s})
				return
			}
			for r := lo; r <= hi; r += stride {
				ranges = append(ranges, scriptRange{r, r, s})
			}
		}
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(ranges, func(a, b scriptRange) int { return int(a.lo - b.lo) })
	return ranges, names
})

func family(name string) string {
	switch name {
	case "Hiragana", "Katakana", "Bopomofo":
		return "Han"
	}
	return name
}

// scriptOf returns the script of a letter, 0 for anything else.
func scriptOf(r rune) script {
	if !unicode.IsLetter(r) {
		return 0
	}
	if r < 0x80 {
		return latin()
	}
	ranges, _ := scriptTable()
	i, ok := slices.BinarySearchFunc(ranges, r, func(x scriptRange, r rune) int {
		switch {
		case x.hi < r:
			return -1
		case x.lo > r:
			return 1
		}
		return 0
	})
	if !ok {
		return 0
	}
	return ranges[i].s
}

// latin returns the script of the letters of ASCII.
var latin = sync.OnceValue(func() script {
	_, names := scriptTable()
	return script(slices.Index(names, "Latin"))
})

func (s script) String() string {
	_, names := scriptTable()
	return names[s]
}

// expects returns the scripts that the prompt uses or its tags name: an answer
// may use them.
func (d *doc) expects() map[script]bool {
	if d.expected != nil {
		return d.expected
	}
	d.expected = map[script]bool{}
	for _, r := range d.Prompt {
		if s := scriptOf(r); s != 0 {
			d.expected[s] = true
		}
	}
	_, names := scriptTable()
	for _, t := range d.Tags {
		name, ok := strings.CutPrefix(t, scriptPrefix)
		if i := slices.Index(names, family(name)); ok && i > 0 {
			d.expected[script(i)] = true
		}
	}
	return d.expected
}

type letter struct {
	at   int
	s    script
	bare bool // nothing or only blanks stand between it and the letter before
}

// letters lists the letters that have a script.
func (d *doc) letters() []letter {
	if d.lettersDone {
		return d.lettersOf
	}
	d.lettersDone = true
	var out []letter
	bare := false
	for i, r := range d.r {
		if s := scriptOf(r); s != 0 {
			out = append(out, letter{i, s, bare})
			bare = true
		} else if r == '\n' || !unicode.IsSpace(r) && !unicode.IsMark(r) {
			bare = false
		}
	}
	d.lettersOf = out
	return out
}
