package coherence

import "unicode"

// symbolSoup: digits, capitals and punctuation at random, the low ids of a
// vocabulary (llama.cpp#11575, flashinfer#3334). Code, formulas, Morse and
// drawings have as many signs, but words, few kinds of signs, one sign that
// rules, or else some letters and brackets that close in order.
var symbolSoup = Check{
	Name:   "symbol-soup",
	About:  "80 characters without a word, of many kinds of signs, with hardly a letter or with brackets that do not match",
	Unit:   "kinds of signs",
	Source: "reports.md: no word in >= 40 characters caught 11 of 43 and flagged 6 of 49 good (digits, drawings, Morse, code); twice the length, 12 kinds of signs and unmatched brackets clear these; 80 characters drawn from the 64 lowest ids show about 20 kinds",
	Exempt: []Tag{TagArt, TagCode, TagEncoded, TagNotation},
	Gross:  true,
	run:    runSymbolSoup,
}

func runSymbolSoup(d *doc, _ level) *hit {
	const (
		window = 80
		kinds  = 12
		hardly = 0.1  // share of letters
		even   = 0.15 // share of the commonest character; quotes, bars or digits take more in code and tables
	)
	end := d.end()
	// Stretches without a run of three letters; only these are looked at.
	for i := 0; i < end; {
		j, run := i, 0
		for j < end && run < 3 {
			if unicode.IsLetter(d.r[j]) {
				run++
			} else {
				run = 0
			}
			j++
		}
		if run == 3 {
			j -= 2
		}
		if stretch := d.r[i:min(j, end)]; len(stretch) >= window {
			if n := signs(stretch); n >= kinds && commonest(stretch) <= even && (letterShare(stretch) < hardly || !matched(stretch)) {
				return &hit{"signs and digits at random", float64(n), kinds, i}
			}
		}
		for j < end && unicode.IsLetter(d.r[j]) {
			j++
		}
		i = max(j, i+1)
	}
	return nil
}

// signs counts the kinds of ASCII punctuation and symbols.
func signs(r []rune) int {
	var seen [128]bool
	n := 0
	for _, x := range r {
		if x < 128 && (unicode.IsPunct(x) || unicode.IsSymbol(x)) && !seen[x] {
			seen[x] = true
			n++
		}
	}
	return n
}

func letterShare(r []rune) float64 {
	n := 0
	for _, x := range r {
		if unicode.IsLetter(x) {
			n++
		}
	}
	return float64(n) / float64(len(r))
}

// commonest returns the share of the commonest character.
func commonest(r []rune) float64 {
	most := 0
	count := map[rune]int{}
	for _, x := range r {
		count[x]++
		most = max(most, count[x])
	}
	return float64(most) / float64(len(r))
}

// matched says whether three quarters of the brackets or more close as they were
// opened, and there are any. Quoted brackets make real code imperfect; of ten
// brackets at random about half find a partner.
func matched(r []rune) bool {
	var open []rune
	good, all := 0, 0
	for _, x := range r {
		switch x {
		case '(', '[', '{':
			open = append(open, x)
		case ')', ']', '}':
			all++
			if n := len(open); n > 0 {
				o := open[n-1]
				open = open[:n-1]
				if o == '(' && x == ')' || o == '[' && x == ']' || o == '{' && x == '}' {
					good++
				}
			}
		}
	}
	all += len(open)
	return all > 0 && 4*good >= 3*all
}
