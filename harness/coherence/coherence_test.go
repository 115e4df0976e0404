package coherence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestChecks(t *testing.T) {
	list := Checks()
	if !slices.IsSortedFunc(list, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("the registry is not sorted by name")
	}
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.Name] || c.Name == "" || c.About == "" || c.Unit == "" || c.Source == "" {
			t.Errorf("%+v: double, or a field is empty", c)
		}
		seen[c.Name] = true
		// One check, one file, with its test.
		file := strings.ReplaceAll(c.Name, "-", "")
		for _, f := range []string{file + ".go", file + "_test.go"} {
			if _, err := os.Stat(filepath.Clean(f)); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
	// The list is a copy: callers cannot change what exempts.
	list[0].Exempt[0] = "changed"
	if Checks()[0].Exempt[0] == "changed" {
		t.Error("Checks hands out the registry's own list")
	}
}

func TestRunHealthy(t *testing.T) {
	for _, s := range []string{"Oslo.", prose, "B", "42", "👍", "{}"} {
		if found := Run(said(s)); found != nil {
			t.Errorf("%q: %+v", s, found)
		}
	}
}

func TestRunSortsFindings(t *testing.T) {
	found := Run(said("Os" + strings.Repeat("!", 250) + "<|im_end|>\x00"))
	if got, want := names(found), "char-flood char-run control special-token"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	for _, f := range found {
		if f.Summary == "" || f.Excerpt == "" && f.Check != "empty" {
			t.Errorf("%+v: a field is empty", f)
		}
	}
}

// A baseline excuses like by like: its mild fault does not excuse the
// candidate's gross one, and its gross fault excuses a mild one.
func TestRunAgainstBaseline(t *testing.T) {
	mild := prose + " " + prose[:180]
	gross := strings.Repeat(prose+" ", 4)
	for _, c := range []struct {
		name, text, baseline string
		fires                bool
	}{
		{"gross beside mild", gross, mild, true},
		{"mild beside gross", mild, gross, false},
		{"gross beside gross", gross, gross, false},
		{"mild beside clean", mild, prose, true},
		{"clean beside gross", prose, gross, false},
	} {
		if f := find(Run(beside(c.text, c.baseline)), "repeated-text"); (f != nil) != c.fires {
			t.Errorf("%s: got %+v, want fires %v", c.name, f, c.fires)
		}
	}
	// An empty baseline is an answer; no baseline is none.
	if find(Run(beside("", "")), "empty") != nil || find(Run(said("")), "empty") == nil {
		t.Error("an empty baseline and no baseline are taken for the same")
	}
}

// Run neither keeps nor changes what it was given.
func TestRunIsPure(t *testing.T) {
	in := Text{Text: prose + strings.Repeat("!", 40), Prompt: "p", Tags: []string{"table", "code"}, Baseline: ptr(prose)}
	first, err := json.Marshal(Run(in))
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(Run(in))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("got %s, then %s", first, second)
	}
	if !slices.Equal(in.Tags, []string{"table", "code"}) || *in.Baseline != prose {
		t.Errorf("the input was changed: %+v", in)
	}
}

// Unknown tags exempt from nothing.
func TestUnknownTagExemptsFromNothing(t *testing.T) {
	if len(Run(Text{Text: "", Tags: []string{"anything", "script:", "language:"}})) == 0 {
		t.Error("an unknown tag silenced a check")
	}
}

// FuzzRun: any texts give findings that lie inside the text, twice the same.
func FuzzRun(f *testing.F) {
	for _, s := range append(readShapes(f, "shapes.jsonl"), readShapes(f, "good.jsonl")...) {
		f.Add(s.Text, s.Prompt, "", strings.Join(s.Tags, " "))
	}
	f.Add("Os\xff\xfelo", "p", "x", "code")
	f.Add(strings.Repeat("ab", 40), strings.Repeat("ab", 50), "ab", "repeat script:Thai")
	f.Fuzz(func(t *testing.T, text, prompt, baseline, tags string) {
		for _, in := range []Text{
			{Text: text, Prompt: prompt, Tags: strings.Fields(tags)},
			{Text: text, Prompt: prompt, Tags: strings.Fields(tags), Baseline: &baseline},
		} {
			found := Run(in)
			for _, x := range found {
				if x.Offset < 0 || x.Offset > len(text) || utf8.RuneCountInString(x.Excerpt) > excerptRunes {
					t.Errorf("%+v for a text of %d bytes", x, len(text))
				}
			}
			if !slices.Equal(found, Run(in)) {
				t.Error("two runs differ")
			}
		}
		if found := Run(Text{Text: text, Prompt: prompt, Baseline: &text}); found != nil {
			t.Errorf("a text beside itself: %+v", found)
		}
	})
}

// BenchmarkRun reads a megabyte: ordinary text, and texts made to be slow. Each
// takes under a second on one core; time grows with the length alone.
func BenchmarkRun(b *testing.B) {
	const size = 1 << 20
	for _, c := range []struct{ name, unit string }{
		{"prose", prose + " "},
		{"one-character", "!"},
		{"two-letters", "ab"},
		{"rare-character", "郁"},
		{"begin-marks", "<s>x"},
		{"half-marks", "<|"},
		{"hyphens", "a-"},
		{"words", "The "},
		{"bad-bytes", "\xff\xc3"},
		{"blanks", " "},
	} {
		text := strings.Repeat(c.unit, size/len(c.unit))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Run(said(text))
			}
		})
	}
}

// The table of exemptions is frozen, so that a tag is not widened by accident:
// each check with the tags that switch it off.
func TestExemptTable(t *testing.T) {
	var b strings.Builder
	for _, c := range Checks() {
		b.WriteString(c.Name + ":")
		for _, tag := range c.Exempt {
			b.WriteString(" " + string(tag))
		}
		if !c.Gross {
			b.WriteString(" (needs a baseline)")
		}
		b.WriteString("\n")
	}
	const want = `blank-flood: run
blank-tail: run
char-flood: run
char-run: art emoji encoded run
compression: art code digits encoded json list log markup notation repeat run table verse
control: special
doubled-words: code digits emoji encoded notation repeat run verse
empty:
few-words: code digits emoji encoded json list log markup notation repeat run table verse
fragments: code encoded notation repeat run url verse
glued-words: code encoded repeat run url
loop-flood: art repeat run
mojibake: encoded special
one-character: run
period-loop: art code digits encoded json log markup notation repeat run table verse
prompt-echo: code encoded repeat run
repeated-text: art code encoded json list log markup reasoning repeat run table verse
replacement: special
script-change: script:mixed encoded repeat
script-drift: script:mixed encoded (needs a baseline)
script-salad: script:mixed encoded
special-token: special
stray-tag: code json markup special (needs a baseline)
stutter: code encoded repeat run verse
symbol-soup: art code encoded notation
word-loop: art emoji encoded repeat run verse
word-salad: art code digits encoded json list log markup notation repeat run table verse
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
