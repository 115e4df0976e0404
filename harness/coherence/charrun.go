package coherence

import "unicode"

// charRun: one character many times in a row, such as the '!' of token 0 that
// NaN logits leave (vllm#22881, vllm#10656, noonghunna/club-3090#922).
// Measured on 92 texts: from 16 on, rulers, digits and blanks left out, 11 of
// 43 bad texts caught and no good one flagged; from 8 on 8 good ones are.
// The masks x and X ("sk-xxxxxxxxxxxxxxxx") are left out too; char-flood and
// one-character see what is left out here.
var charRun = Check{
	Name:   "char-run",
	About:  "a letter, sign or mark many times in a row (rulers, digits, blanks and x masks apart); a digit or hexadecimal f beyond 64 times",
	Unit:   "repetitions",
	Source: "reports.md, text rules measured: run>=16 without - = _ . digits blank; digits: longer than 256 bits in hexadecimal",
	Exempt: []Tag{TagArt, TagEmoji, TagEncoded, TagRun},
	Gross:  true,
	run:    runCharRun,
}

func runCharRun(d *doc, _ level) *hit {
	const (
		signs  = 16
		digits = 65 // a zero word or address of 256 bits has 64
	)
	return longestRun(d, "one character is repeated", func(r rune) int {
		switch {
		case unicode.IsDigit(r), r == 'f', r == 'F': // hexadecimal's highest digit
			return digits
		case unicode.IsSpace(r), unicode.IsControl(r), ruler(r), r == 'x', r == 'X', r == 0xFFFD:
			return 0
		}
		return signs
	})
}
