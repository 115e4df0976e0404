package coherence

import "strings"

// stutter: the answer is made of its own beginnings, each longer than the one
// before ("The The quick The quick brown"), as when every chunk of a stream
// carries the whole text so far (NVIDIA/TensorRT-LLM#3280, sglang#215).
var stutter = Check{
	Name:   "stutter",
	About:  "the answer begins again and again, each time going a little further",
	Unit:   "beginnings",
	Source: "four growing beginnings in a row from the first character on; songs that grow (tag verse) are the only natural case",
	Exempt: []Tag{TagCode, TagEncoded, TagRepeat, TagRun, TagVerse},
	Gross:  true,
	run:    runStutter,
}

func runStutter(d *doc, _ level) *hit {
	const (
		limit = 4
		unit  = 24 // runes; the first chunk is a token or a few
	)
	s := strings.TrimSpace(d.s)
	for i, n := 0, 0; i < len(s) && n < unit; n++ {
		i++
		for i < len(s) && s[i]&0xC0 == 0x80 {
			i++
		}
		if !strings.HasPrefix(s[i:], s[:i]) {
			continue
		}
		if k := growing(s, s[:i]); k >= limit {
			return &hit{"the answer begins again and again", float64(k), limit, 0}
		}
	}
	return nil
}

// growing counts the segments from the start of s, cut before each occurrence
// of unit, of which each is a true beginning of the next.
func growing(s, unit string) int {
	n, last := 1, ""
	for {
		next := strings.Index(s[len(unit):], unit)
		seg, more := s, next >= 0
		if more {
			seg = s[:len(unit)+next]
		}
		seg = strings.TrimSpace(seg)
		if last != "" {
			// The last segment may be cut short by the end of the answer.
			grown := len(seg) > len(last) && strings.HasPrefix(seg, last)
			if !grown {
				return n
			}
			n++
		}
		if !more {
			return n
		}
		last = seg
		s = s[len(unit)+next:]
	}
}
