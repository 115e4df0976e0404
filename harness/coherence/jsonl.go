package coherence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Line is one text of a JSON Lines file. ID and Text are mandatory.
type Line struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Baseline *string  `json:"baseline,omitempty"` // the known-good build's answer
	Tags     []string `json:"tags,omitempty"`     // see ParseTags
	Prompt   string   `json:"prompt,omitempty"`

	N int `json:"-"` // line number, from 1
}

// The verdicts on one text.
const (
	OK  = "ok"
	Bad = "bad"
)

// Result is the verdict on one line. Findings is empty, not nil, for an ok
// text, so that its JSON is [].
type Result struct {
	ID       string    `json:"id"`
	Verdict  string    `json:"verdict"` // OK or Bad
	Findings []Finding `json:"findings"`
}

// Judge runs every check over one line.
func Judge(l Line) Result {
	r := Result{ID: l.ID, Verdict: OK, Findings: []Finding{}}
	if found := Run(Text{Text: l.Text, Prompt: l.Prompt, Tags: l.Tags, Baseline: l.Baseline}); len(found) > 0 {
		r.Verdict, r.Findings = Bad, found
	}
	return r
}

// ReadTexts reads {id, text, baseline?, tags?, prompt?} objects, one a line;
// name stands for the file in errors. It is strict: bad JSON, an unknown field,
// a missing id or text, a duplicate id, an unknown tag and a file without any
// text are errors that give the line and the fix. Blank lines are skipped, and
// so is a byte order mark. Bytes that are no UTF-8 are read as U+FFFD, where the
// check named replacement sees them.
func ReadTexts(r io.Reader, name string) ([]Line, error) {
	var out []Line
	first := map[string]int{} // id to line
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		raw, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if n == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(raw)) > 0 {
			l, bad := parseLine(raw, n)
			if bad != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, bad)
			}
			if at, dup := first[l.ID]; dup {
				return nil, fmt.Errorf("%s:%d: duplicate id %q, first on line %d: give every text its own id", name, n, l.ID, at)
			}
			first[l.ID] = n
			out = append(out, l)
		}
		if err != nil {
			break
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no texts: write one JSON object a line, %s", name, lineShape)
	}
	return out, nil
}

const lineShape = `{"id": "…", "text": "…"} with optional "baseline", "tags", "prompt"`

// parseLine reads one object field by field: encoding/json alone would take
// "ID" for "id" and let the last of two equal fields win.
func parseLine(raw []byte, n int) (Line, error) {
	var id, text *string
	l := Line{N: n}
	fields := map[string]any{"id": &id, "text": &text, "baseline": &l.Baseline, "tags": &l.Tags, "prompt": &l.Prompt}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil {
		return Line{}, explain(err, "")
	} else if t != json.Delim('{') {
		return Line{}, fmt.Errorf("the line is no JSON object: write %s", lineShape)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return Line{}, explain(err, "")
		}
		key := t.(string) // Token gives nothing else at this place
		target, ok := fields[key]
		switch {
		case ok && target == nil:
			return Line{}, fmt.Errorf("field %q stands twice: keep one", key)
		case !ok:
			return Line{}, fmt.Errorf("unknown field %q: a line is %s", key, lineShape)
		}
		if err := dec.Decode(target); err != nil {
			return Line{}, explain(err, key)
		}
		fields[key] = nil
	}
	if _, err := dec.Token(); err != nil {
		return Line{}, explain(err, "")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Line{}, errors.New("something follows the JSON object: write one object a line")
	}
	switch {
	case id == nil || *id == "":
		return Line{}, fmt.Errorf("no id: every line needs %s", lineShape)
	case text == nil:
		return Line{}, fmt.Errorf("id %q has no text (an empty answer is \"text\": \"\"): every line needs %s", *id, lineShape)
	}
	if _, err := ParseTags(l.Tags); err != nil {
		return Line{}, fmt.Errorf("id %q: %w", *id, err)
	}
	l.ID, l.Text = *id, *text
	return l, nil
}

// explain puts the decoder's errors into words that say what to do.
func explain(err error, field string) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		want := "string"
		if field == "tags" {
			want = "list of strings"
		}
		return fmt.Errorf("field %q is or holds a JSON %s: it must be a %s", field, kind.Value, want)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the JSON object does not end on its line: write one object a line")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d of the line: %w", syntax.Offset, err)
	}
	return fmt.Errorf("not JSON: %w", err)
}
