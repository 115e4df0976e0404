package load

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Every is how often a Progress writes a line where nobody watches.
const Every = 10 * time.Second

// redraw is how often the line on a terminal changes, at most.
const redraw = 100 * time.Millisecond

// Progress tells a person how a load is coming along: one line that changes
// on a terminal; elsewhere, in a CI log say, a line every ten seconds and one
// at the end. Its Report fits Options.Progress.
type Progress struct {
	w        io.Writer
	terminal bool
	phase    string
	last     time.Duration
	open     bool // the line on the terminal is not ended
}

// NewProgress writes to w, which is stderr: results alone go to stdout.
func NewProgress(w io.Writer, terminal bool) *Progress {
	return &Progress{w: w, terminal: terminal}
}

// Report takes a load's state. It is not safe for use from several goroutines
// at once; Run calls it from one.
func (p *Progress) Report(s State) {
	line := s.String()
	if phase := fmt.Sprint(s.Name, s.Warmup); phase != p.phase {
		p.phase, p.last = phase, -redraw
		if !p.terminal {
			p.last = 0
		}
	}
	gap := Every
	if p.terminal {
		gap = redraw
	}
	if s.Elapsed-p.last < gap && s.Done < s.Total {
		return
	}
	p.last = s.Elapsed
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s\x1b[K", line) // CSI K: erase what a longer line left
		p.open = true
		return
	}
	fmt.Fprintln(p.w, line)
}

// Close ends the line on a terminal. It can be called at any time.
func (p *Progress) Close() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}

// String is the state in one line.
func (s State) String() string {
	name := s.Name
	if s.Warmup {
		name += " warm-up"
	}
	done := fmt.Sprintf("%d/%d done", s.Done, s.Total)
	if s.Limit > 0 && s.Elapsed < s.Limit {
		done = fmt.Sprintf("%d done", s.Done) // the total is how many there may be at most
	}
	parts := []string{done, fmt.Sprintf("%d in flight", s.InFlight)}
	if s.Tokens != nil && s.Elapsed > 0 {
		parts = append(parts, fmt.Sprintf("%.0f tok/s", float64(*s.Tokens)/s.Elapsed.Seconds()))
	}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
	}
	parts = append(parts, s.Elapsed.Round(time.Second).String())
	if left := s.left(); left > 0 {
		parts = append(parts, "about "+left.Round(time.Second).String()+" left")
	}
	return strings.TrimSpace(name + ": " + strings.Join(parts, ", "))
}

// left is how long it will take; 0: there is nothing to tell it from.
func (s State) left() time.Duration {
	switch {
	case s.Done >= s.Total:
		return 0
	case s.Limit > s.Elapsed:
		return s.Limit - s.Elapsed // and what is in flight then
	case s.Limit > 0 || s.Done == 0:
		return 0
	}
	return time.Duration(float64(s.Elapsed) / float64(s.Done) * float64(s.Total-s.Done))
}

// glance finds the server's last count of output tokens in a body without
// decoding it, which would cost as much as receiving it while others are being
// timed. It is for display; Measure decodes.
func glance(raw []byte) (int, bool) {
	_, after, found := cutLast(raw, []byte(`"completion_tokens":`))
	if !found {
		return 0, false
	}
	after = bytes.TrimLeft(after, " ")
	n, digits := 0, 0
	for digits < len(after) && digits < 9 && after[digits] >= '0' && after[digits] <= '9' {
		n = 10*n + int(after[digits]-'0')
		digits++
	}
	return n, digits > 0
}

func cutLast(s, sep []byte) (before, after []byte, found bool) {
	i := bytes.LastIndex(s, sep)
	if i < 0 {
		return s, nil, false
	}
	return s[:i], s[i+len(sep):], true
}
