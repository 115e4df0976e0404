package api

import (
	"strings"

	"touchstone/harness/refserver/sched"
	"touchstone/harness/refserver/token"
)

// assembler turns a sequence's tokens into text and watches for stop strings.
type assembler struct {
	detok *token.Detokenizer
	stop  []string
	min   int // tokens before which no stop string counts

	held   string // text that may yet turn out to begin a stop string
	count  int    // tokens so far
	finish string // empty while it runs
	reason string // the stop string that ended it; empty for other ends
}

// push adds a token and returns the text that is now certain. Text that could
// be the beginning of a stop string is held back until the next tokens tell.
func (a *assembler) push(id int, finish sched.Finish) string {
	a.count++
	if finish != sched.FinishStop { // an end token has no text
		a.held += a.detok.Push(id)
	}
	if finish != "" {
		a.held += a.detok.Flush()
	}
	if at, s := a.find(); s != "" && a.count > a.min {
		text := a.held[:at]
		a.held, a.finish, a.reason = "", string(sched.FinishStop), s
		return text
	}
	keep := a.undecided()
	if finish != "" {
		keep = 0
		a.finish = string(finish)
	}
	text := a.held[:len(a.held)-keep]
	a.held = a.held[len(text):]
	return text
}

// find returns the stop string that begins first in the held text. vLLM takes
// the first of the request's list instead, which leaves another one in the text
// when two of them end within one token.
func (a *assembler) find() (int, string) {
	first, found := 0, ""
	for _, s := range a.stop {
		if at := strings.Index(a.held, s); at >= 0 && (found == "" || at < first) {
			first, found = at, s
		}
	}
	return first, found
}

// undecided is the length of the longest end of the held text that begins a
// stop string.
func (a *assembler) undecided() int {
	longest := 0
	for _, s := range a.stop {
		for n := min(len(s)-1, len(a.held)); n > longest; n-- {
			if strings.HasSuffix(a.held, s[:n]) {
				longest = n
			}
		}
	}
	return longest
}
