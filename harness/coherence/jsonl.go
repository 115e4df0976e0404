package coherence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
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
// so is a byte order mark.
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

func parseLine(raw []byte, n int) (Line, error) {
	var v struct {
		ID       *string  `json:"id"`
		Text     *string  `json:"text"`
		Baseline *string  `json:"baseline"`
		Tags     []string `json:"tags"`
		Prompt   string   `json:"prompt"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return Line{}, explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Line{}, errors.New("more than one JSON value on the line: write one object a line")
	}
	switch {
	case v.ID == nil || *v.ID == "":
		return Line{}, fmt.Errorf("no id: every line needs %s", lineShape)
	case v.Text == nil:
		return Line{}, fmt.Errorf("id %q has no text (an empty answer is \"text\": \"\"): every line needs %s", *v.ID, lineShape)
	}
	if _, err := ParseTags(v.Tags); err != nil {
		return Line{}, fmt.Errorf("id %q: %w", *v.ID, err)
	}
	return Line{ID: *v.ID, Text: *v.Text, Baseline: v.Baseline, Tags: v.Tags, Prompt: v.Prompt, N: n}, nil
}

var unknownField = regexp.MustCompile(`unknown field ("[^"]*")`)

// explain puts the decoder's errors into words that say what to do.
func explain(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch m := unknownField.FindStringSubmatch(err.Error()); {
	case m != nil:
		return fmt.Errorf("unknown field %s: a line is %s", m[1], lineShape)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("field %q is a JSON %s, want %s", kind.Field, kind.Value, strings.ReplaceAll(kind.Type.String(), "[]string", "a list of strings"))
	case errors.As(err, &kind):
		return fmt.Errorf("the line is a JSON %s, want an object: %s", kind.Value, lineShape)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d of the line: %w", syntax.Offset, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON object does not end on its line: write one object a line")
	}
	return err
}
