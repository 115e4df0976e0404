package coherence

import "unicode"

// repeatedText: long passages come again, with a cycle beyond period-loop's 64
// characters: the same sentences or paragraphs over and over (sglang#15179,
// Lsglang#19). Passages of 50 characters are about ten words, Gopher's longest
// n-gram, and need no word borders, so that every script is judged alike.
var repeatedText = Check{
	Name:   "repeated-text",
	About:  "most of a long answer stands in it a second time",
	Unit:   "share of characters",
	Source: "Gopher's duplicate 10-grams (limit 0.10 for web pages, correctness.md §1.5), raised since that misfires on code and lists: alone 0.5, beside a baseline 0.3, 0.8 for what is no running text",
	Exempt: []Tag{TagArt, TagCode, TagEncoded, TagJSON, TagList, TagLog, TagMarkup, TagReasoning, TagRepeat, TagRun, TagTable, TagVerse},
	Gross:  true,
	run:    runRepeatedText,
}

func runRepeatedText(d *doc, l level) *hit {
	const (
		passage = 50
		least   = 300 // runes; under six passages a share says nothing
	)
	limit := 0.5
	if l == fine {
		limit = 0.3
	}
	at := d.squeezed()
	if len(at) < least {
		return nil
	}
	if d.prose(0, d.end()) < proseLimit {
		limit = 0.8 // lists of like records share two thirds of their text
	}
	// A rolling polynomial hash modulo 2^64; a chance collision of 10^6
	// passages has probability 10^12/2^65, and would count one passage.
	const base = 1099511628211
	var h, top uint64 = 0, 1
	for range passage - 1 {
		top *= base
	}
	value := func(i int) uint64 {
		if r := d.r[at[i]]; !unicode.IsSpace(r) {
			return uint64(r)
		}
		return ' '
	}
	seen := make(map[uint64]struct{}, len(at))
	covered, upTo, first := 0, 0, -1
	for i := range at {
		if i >= passage {
			h -= value(i-passage) * top
		}
		h = h*base + value(i)
		if i < passage-1 {
			continue
		}
		if _, ok := seen[h]; !ok {
			seen[h] = struct{}{}
			continue
		}
		covered += i + 1 - max(i-passage+1, upTo)
		upTo = i + 1
		if first < 0 {
			first = int(at[i-passage+1])
		}
	}
	if share := float64(covered) / float64(len(at)); share >= limit {
		return &hit{"the answer says the same passages again", share, limit, first}
	}
	return nil
}

// squeezed lists the rune indices of the text without the blanks at its end
// and with one blank for each run of them: indentation repeats in all code.
func (d *doc) squeezed() []int32 {
	at := make([]int32, 0, len(d.r))
	blank := false
	for i, r := range d.r[:d.end()] {
		b := unicode.IsSpace(r)
		if !b || !blank {
			at = append(at, int32(i))
		}
		blank = b
	}
	return at
}
