package coherence

import (
	"bytes"
	"compress/zlib"
)

// compression: text that zlib shrinks to a sixth has almost no information. It
// is read in windows, so that a bad end is not hidden by a long good start.
var compression = Check{
	Name:   "compression",
	About:  "about a kilobyte of the answer compresses too well",
	Unit:   "bytes / zlib bytes",
	Source: "Whisper fails above 2.4; correctness.md §1.5 hard-fails above 6 from 200 bytes on: alone 6, beside a baseline 4, their middle; twice that for what is no running text",
	Exempt: []Tag{TagArt, TagCode, TagDigits, TagEncoded, TagJSON, TagList, TagLog, TagMarkup, TagNotation, TagRepeat, TagRun, TagTable, TagVerse},
	Gross:  true,
	run:    runCompression,
}

func runCompression(d *doc, l level) *hit {
	const (
		window = 1024 // 256 tokens of four bytes: reports.md R15
		least  = 200
	)
	limit := 6.0
	if l == fine {
		limit = 4
	}
	var best *hit
	var buf bytes.Buffer
	zw := zlib.NewWriter(&buf)
	for i := 0; i < len(d.r); {
		j := i
		for j < len(d.r) && d.off[j]-d.off[i] < window {
			j++
		}
		if int(d.off[len(d.r)]-d.off[j]) < least {
			j = len(d.r)
		}
		piece := d.s[d.off[i]:d.off[j]]
		if len(piece) < least {
			return best
		}
		buf.Reset()
		zw.Reset(&buf)
		_, _ = zw.Write([]byte(piece)) // a bytes.Buffer takes everything
		_ = zw.Close()
		ratio, bound := float64(len(piece))/float64(buf.Len()), limit
		if d.prose(i, j) < proseLimit {
			bound *= 2 // fifteen log lines, a second apart, reach 6.6
		}
		if ratio > bound && (best == nil || ratio > best.measured) {
			best = &hit{"the answer has almost no information", ratio, bound, i}
		}
		i = j
	}
	return best
}
