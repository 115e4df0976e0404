package coherence

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadTexts(t *testing.T) {
	in := "\ufeff" + `{"id":"a","text":"Oslo."}` + "\n\n" + `{"id":"b","text":"","baseline":"x","tags":["code"],"prompt":"p"}`
	got, err := ReadTexts(strings.NewReader(in), "x.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].ID != "a" || got[0].Baseline != nil || got[0].N != 1 {
		t.Fatalf("got %+v", got)
	}
	if b := got[1]; b.N != 3 || b.Text != "" || b.Baseline == nil || *b.Baseline != "x" || b.Prompt != "p" || b.Tags[0] != "code" {
		t.Fatalf("got %+v", b)
	}
}

func TestReadTextsErrors(t *testing.T) {
	const ok = `{"id":"a","text":"x"}` + "\n"
	for _, c := range []struct{ name, in, want string }{
		{"empty file", "", "f.jsonl: no texts: write one JSON object a line"},
		{"blank file", "\n \n", "f.jsonl: no texts"},
		{"bad JSON", ok + "{nope}", "f.jsonl:2: not JSON"},
		{"cut JSON", `{"id":"a","text":"x`, "f.jsonl:1: the JSON object does not end on its line"},
		{"unknown field", ok + `{"id":"b","txt":"x"}`, `f.jsonl:2: unknown field "txt": a line is {"id"`},
		{"no id", `{"text":"x"}`, "f.jsonl:1: no id"},
		{"empty id", `{"id":"","text":"x"}`, "f.jsonl:1: no id"},
		{"no text", `{"id":"b"}`, `f.jsonl:1: id "b" has no text`},
		{"null text", `{"id":"b","text":null}`, `f.jsonl:1: id "b" has no text`},
		{"duplicate", ok + "\n" + ok, `f.jsonl:3: duplicate id "a", first on line 1`},
		{"unknown tag", `{"id":"b","text":"x","tags":["cod"]}`, `f.jsonl:1: id "b": unknown tag "cod": use one of art, code`},
		{"wrong type", `{"id":"b","text":7}`, `f.jsonl:1: field "text" is or holds a JSON number: it must be a string`},
		{"tags no list", `{"id":"b","text":"x","tags":"code"}`, `f.jsonl:1: field "tags" is or holds a JSON string: it must be a list of strings`},
		{"tag no string", `{"id":"b","text":"x","tags":[7]}`, `f.jsonl:1: field "tags" is or holds a JSON number`},
		{"field twice", `{"id":"b","text":"x","text":"y"}`, `f.jsonl:1: field "text" stands twice`},
		{"null twice", `{"id":"b","text":"x","tags":null,"tags":[]}`, `f.jsonl:1: field "tags" stands twice`},
		{"capitals", `{"ID":"b","text":"x"}`, `f.jsonl:1: unknown field "ID"`},
		{"no brace at the end", `{"id":"b","text":"x"`, "f.jsonl:1: the JSON object does not end"},
		{"a word", "hello", "f.jsonl:1: not JSON"},
		{"comma at the end", `{"id":"b","text":"x",}`, "f.jsonl:1: not JSON"},
		{"no object", `[1]`, "f.jsonl:1: the line is no JSON object: write {"},
		{"two values", `{"id":"b","text":"x"} {"id":"c","text":"x"}`, "f.jsonl:1: something follows the JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadTexts(strings.NewReader(c.in), "f.jsonl")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got %v, want %s…", err, c.want)
			}
		})
	}
	broken := errors.New("disk gone")
	if _, err := ReadTexts(iotest.ErrReader(broken), "f.jsonl"); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}

func TestJudgeJSON(t *testing.T) {
	good, err := json.Marshal(Judge(Line{ID: "a", Text: "Oslo."}))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"a","verdict":"ok","findings":[]}`; string(good) != want {
		t.Errorf("got %s, want %s", good, want)
	}
	bad, err := json.Marshal(Judge(Line{ID: "b", Text: " "}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"b","verdict":"bad","findings":[{"check":"empty","summary":"the answer has no visible character","measured":0,"limit":1,"offset":0,"excerpt":" "}]}`
	if string(bad) != want {
		t.Errorf("got %s, want %s", bad, want)
	}
	base := " "
	if r := Judge(Line{ID: "c", Text: " ", Baseline: &base}); r.Verdict != OK {
		t.Errorf("the baseline says nothing either, got %+v", r)
	}
}

// A file with broken bytes is judged, not refused: broken bytes are a fault of
// the server, and "replacement" names it.
func TestReadTextsBrokenBytes(t *testing.T) {
	got, err := ReadTexts(strings.NewReader("{\"id\":\"a\",\"text\":\"Os\xfflo\"}"), "f.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if r := Judge(got[0]); r.Verdict != Bad || find(r.Findings, "replacement") == nil {
		t.Errorf("got %+v", r)
	}
}

// FuzzReadTexts: any bytes give lines that can be judged, or an error that
// names the file.
func FuzzReadTexts(f *testing.F) {
	f.Add([]byte(`{"id":"a","text":"x","tags":["code"],"baseline":null,"prompt":""}`))
	f.Add([]byte("{\"id\":\"a\"\n\n[}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ReadTexts(bytes.NewReader(data), "f.jsonl")
		if (err == nil) != (len(lines) > 0) {
			t.Fatalf("%d lines and the error %v", len(lines), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f.jsonl:") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
