package coherence

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// mojibake: UTF-8 read as Windows-1252 ("fÃ¼r", "itâ€™s"): neighbours that, put
// back into bytes, are valid UTF-8. Natural text hardly ever is: in "Größe" the
// bytes of ö and ß follow each other and are no valid sequence.
var mojibake = Check{
	Name:   "mojibake",
	About:  "UTF-8 that was read as Windows-1252",
	Unit:   "characters",
	Source: "reports.md, text rules measured: three pairs or more; no good text of 49 flagged",
	Exempt: []Tag{TagEncoded, TagSpecial},
	Gross:  true,
	run:    runMojibake,
}

func runMojibake(d *doc, _ level) *hit {
	const limit = 3
	n, first := 0, -1
	for i := 0; i < len(d.r); {
		k := misread(d.r[i:])
		if k == 0 {
			i++
			continue
		}
		if n++; first < 0 {
			first = i
		}
		i += k
	}
	if n < limit {
		return nil
	}
	return &hit{"characters were decoded twice", float64(n), limit, first}
}

// misread returns how many runes at the start of r are the Windows-1252 reading
// of one UTF-8 character outside ASCII, or 0.
func misread(r []rune) int {
	var b [utf8.UTFMax]byte
	for k := range min(len(r), len(b)) {
		if r[k] < 0x80 {
			return 0
		}
		c, ok := charmap.Windows1252.EncodeRune(r[k])
		if !ok {
			if r[k] > 0xFF {
				return 0
			}
			c = byte(r[k]) // the five holes of Windows-1252 are read as Latin-1
		}
		b[k] = c
		if x, size := utf8.DecodeRune(b[:k+1]); x != utf8.RuneError && size == k+1 {
			return k + 1
		}
	}
	return 0
}
