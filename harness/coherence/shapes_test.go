package coherence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shape is a text with what is known about it.
type shape struct {
	Label  string   `json:"label"` // good or bad
	Kind   string   `json:"kind"`
	Tags   []string `json:"tags"`
	Text   string   `json:"text"`
	Prompt string   `json:"prompt"`
	Source string   `json:"source"`

	Baseline *string `json:"baseline"`
}

func readShapes(t testing.TB, name string) []shape {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []shape
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var s shape
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := ParseTags(s.Tags); err != nil {
			t.Fatalf("%s: %s: %v", name, s.Kind, err)
		}
		out = append(out, s)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// counts is what the checks say about labelled texts.
type counts struct {
	bad, caught, good, flagged int
	missed, wrong              []string
	perCheck                   map[string][2]int // bad caught, good flagged
}

func measure(shapes []shape, tagged bool) counts {
	c := counts{perCheck: map[string][2]int{}}
	for _, s := range shapes {
		in := Text{Text: s.Text, Prompt: s.Prompt}
		if tagged {
			in.Tags = s.Tags
		}
		found := Run(in)
		good := s.Label == "good"
		for _, f := range found {
			n := c.perCheck[f.Check]
			if good {
				n[1]++
			} else {
				n[0]++
			}
			c.perCheck[f.Check] = n
		}
		switch {
		case good && len(found) > 0:
			c.flagged++
			c.wrong = append(c.wrong, s.Kind+" ("+names(found)+")")
		case !good && len(found) > 0:
			c.caught++
		case !good:
			c.missed = append(c.missed, s.Kind)
		}
		if good {
			c.good++
		} else {
			c.bad++
		}
	}
	return c
}

func names(found []Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Check)
	}
	return strings.Join(out, " ")
}

func (c counts) log(t *testing.T, title string) {
	t.Helper()
	t.Logf("%s: %d of %d bad caught, %d of %d good flagged", title, c.caught, c.bad, c.flagged, c.good)
	t.Logf("  missed: %s", strings.Join(c.missed, ", "))
	t.Logf("  flagged: %s", strings.Join(c.wrong, ", "))
	for _, name := range slices.Sorted(maps.Keys(c.perCheck)) {
		t.Logf("  %-14s %2d bad %2d good", name, c.perCheck[name][0], c.perCheck[name][1])
	}
}

// The requirement: alone at least 22 of 29 bad texts caught and at most 2 of 33
// good ones flagged, with their tags none of the good ones. The bounds below
// are what was reached; the text that is missed is a wrong sum, the anchors'
// matter. The best public gates, on the same file: 19 caught and 16 flagged.
func TestShapes(t *testing.T) {
	shapes := readShapes(t, "shapes.jsonl")
	alone, tagged := measure(shapes, false), measure(shapes, true)
	alone.log(t, "shapes without tags")
	tagged.log(t, "shapes with tags")
	if alone.bad != 29 || alone.good != 33 {
		t.Fatalf("%d bad and %d good texts, want 29 and 33", alone.bad, alone.good)
	}
	if alone.caught < 28 || alone.flagged > 2 {
		t.Errorf("without tags: %d caught, %d flagged, want >= 28 and <= 2", alone.caught, alone.flagged)
	}
	if tagged.caught < 28 || tagged.flagged > 0 {
		t.Errorf("with tags: %d caught, %d flagged, want >= 28 and 0", tagged.caught, tagged.flagged)
	}
}

// More good texts, of the kinds that text checks get wrong: with their tags
// none is flagged, without tags at most two: a matrix of zeros and a row of
// emoji are runs of one character by any measure.
func TestGoodTexts(t *testing.T) {
	shapes := readShapes(t, "good.jsonl")
	alone, tagged := measure(shapes, false), measure(shapes, true)
	alone.log(t, "good texts without tags")
	tagged.log(t, "good texts with tags")
	if alone.good < 40 || alone.flagged > 2 || tagged.flagged > 0 {
		t.Errorf("%d texts, %d flagged without tags and %d with, want >= 40, <= 2 and 0", alone.good, alone.flagged, tagged.flagged)
	}
}

// Answers of a real engine with a real fault. All but the last are caught
// without a baseline; the last is fluent and short, and is caught beside one.
func TestFaults(t *testing.T) {
	shapes := readShapes(t, "faults.jsonl")
	alone := measure(shapes, false)
	alone.log(t, "faults without a baseline")
	if alone.caught != len(shapes)-1 || len(shapes) != 8 {
		t.Errorf("%d of %d caught, want all but one", alone.caught, len(shapes))
	}
	for _, s := range shapes {
		if s.Baseline == nil {
			continue
		}
		if len(Run(Text{Text: s.Text, Prompt: s.Prompt, Tags: s.Tags, Baseline: s.Baseline})) == 0 {
			t.Errorf("%s: not caught beside the baseline", s.Kind)
		}
		if found := Run(Text{Text: *s.Baseline, Prompt: s.Prompt, Baseline: s.Baseline}); found != nil {
			t.Errorf("%s: the baseline beside itself: %+v", s.Kind, found)
		}
	}
}

// A text beside itself as its own baseline has no finding, whatever it is.
func TestShapesBesideThemselves(t *testing.T) {
	for _, name := range []string{"shapes.jsonl", "good.jsonl", "faults.jsonl"} {
		for _, s := range readShapes(t, name) {
			if found := Run(Text{Text: s.Text, Baseline: &s.Text}); found != nil {
				t.Errorf("%s: %+v", s.Kind, found)
			}
		}
	}
}

// A tag exempts from the checks that it names and no others: code, table, … that
// ends in two hundred exclamation marks is bad, whatever its tag, but for the
// one that asks for a run of one character.
func TestTaggedFloodIsBad(t *testing.T) {
	for _, s := range append(readShapes(t, "shapes.jsonl"), readShapes(t, "good.jsonl")...) {
		if s.Label != "good" {
			continue
		}
		for _, tag := range everyTag() {
			found := Run(Text{Text: s.Text + strings.Repeat("!", 200), Tags: []string{string(tag)}})
			if len(found) == 0 && tag != TagRun {
				t.Errorf("%s, tagged %s: no finding", s.Kind, tag)
			}
		}
	}
}
