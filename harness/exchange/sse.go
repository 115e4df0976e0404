package exchange

import "bytes"

// event is one server-sent event, as the WHATWG standard splits them, read
// leniently: an event that the end of the body cuts off is handed out too.
type event struct {
	name  string   // the "event:" field
	lines [][]byte // the data lines, without their field name
	end   int      // offset in the body just past the last data byte
	cut   bool     // the body ended before the blank line
	bare  bool     // no event at all: a line of JSON without a field name
}

// data joins the data lines as the standard asks.
func (e *event) data() []byte {
	if len(e.lines) == 1 {
		return e.lines[0]
	}
	return bytes.Join(e.lines, []byte("\n"))
}

var bom = []byte("\xef\xbb\xbf")

// scanSSE hands each event of the body to yield, in order. Comments (the pings
// of llama.cpp and of proxies) and unknown fields are dropped. Lines end in
// LF, CRLF or CR.
func scanSSE(raw []byte, yield func(event)) {
	var ev event
	flush := func(cut bool) {
		if len(ev.lines) > 0 {
			ev.cut = cut
			yield(ev)
		}
		ev = event{}
	}
	pos := 0
	if bytes.HasPrefix(raw, bom) {
		pos = len(bom)
	}
	for pos < len(raw) {
		n, next := nextLine(raw[pos:])
		line, end := raw[pos:pos+n], pos+n
		pos += next
		switch {
		case n == 0:
			flush(false)
		case line[0] == '{' || line[0] == '<':
			flush(true)
			yield(event{lines: [][]byte{line}, end: end, bare: true, cut: pos >= len(raw)})
		default:
			ev.field(line, end)
		}
	}
	flush(true)
}

// nextLine returns the length of the first line and where the next begins.
func nextLine(b []byte) (n, next int) {
	n = bytes.IndexByte(b, '\n')
	next = n + 1
	if n < 0 {
		n, next = len(b), len(b)
	}
	if cr := bytes.IndexByte(b[:n], '\r'); cr >= 0 {
		n = cr
		if cr+1 >= len(b) || b[cr+1] != '\n' {
			next = cr + 1
		}
	}
	return n, next
}

// field takes in one line of an event. Older llama-servers send a failure as
// "error: {…}", which is no field of the standard.
func (e *event) field(line []byte, end int) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.lines = append(e.lines, value)
		e.end = end
	case "event":
		e.name = string(value)
	case "error":
		e.name = "error"
		e.lines = append(e.lines, value)
		e.end = end
	}
}
