package token

import (
	"strings"
	"unicode/utf8"
)

// byteRunes is GPT-2's alphabet: the character that stands for each byte in
// the vocabulary. Printable bytes of Latin-1 stand for themselves, the other
// 68 are numbered on from U+0100 (bytes_to_unicode in openai/gpt-2 encoder.py).
var byteRunes = func() (runes [256]rune) {
	next := rune(0x100)
	for b := range runes {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			runes[b] = rune(b)
		default:
			runes[b] = next
			next++
		}
	}
	return runes
}()

var runeBytes = func() map[rune]byte {
	m := make(map[rune]byte, len(byteRunes))
	for b, r := range byteRunes {
		m[r] = byte(b)
	}
	return m
}()

// fromByteLevel returns the bytes that a vocabulary entry stands for. An entry
// with a character outside the alphabet stands for itself, as in Hugging
// Face's decoder.
func fromByteLevel(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		b, ok := runeBytes[r]
		if !ok {
			return text
		}
		out = append(out, b)
	}
	return string(out)
}

// lossy replaces what is not UTF-8 by U+FFFD, one for each maximal subpart of
// a character (Unicode 16, §3.9, "U+FFFD Substitution of Maximal Subparts"), as
// Python and Rust do. strings.ToValidUTF8 was rejected: it replaces whole runs
// of bytes by one.
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			for size < len(s) && !utf8.FullRuneInString(s[:size+1]) {
				size++
			}
		}
		out.WriteRune(r)
		s = s[size:]
	}
	return out.String()
}

// incompleteTail is the length of the beginning of a character at the end of
// s that more bytes could complete; 0 to 3.
func incompleteTail(s string) int {
	for n := 1; n <= min(len(s), utf8.UTFMax-1); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
