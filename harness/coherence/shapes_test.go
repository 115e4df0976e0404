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

func TestShapes(t *testing.T) {
	shapes := readShapes(t, "shapes.jsonl")
	alone, tagged := measure(shapes, false), measure(shapes, true)
	alone.log(t, "no tags")
	tagged.log(t, "with tags")
}
