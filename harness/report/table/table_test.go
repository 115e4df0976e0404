package table

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func draw(t *testing.T, format Format, cols []Column, rows [][]string, opts Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(&b, format, cols, rows, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares with testdata/name, and leaves name.got beside it where they
// differ.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if got == string(want) {
		os.Remove(path + ".got")
		return
	}
	if err := os.WriteFile(path+".got", []byte(got), 0o644); err != nil {
		t.Error(err)
	}
	t.Errorf("%s differs; see %s.got, and go test -update where it is right\n%s", path, path, got)
}

var sample = []Column{{"metric", Left}, {"founding", Right}, {"tok/s p50", Right}, {"case_id", Left}}

func sampleRows() [][]string {
	return [][]string{
		{"output tok/s", "1,049.1", "9,120.44", "a|b"},
		{"latency mean", "36.35 s", "4.2 s", "  kept  "},
		{"text", "", "", "a longer text that a terminal of eighty columns can not show in one line of its own"},
		{"多語言", "–", "1", "two\nlines"},
	}
}

func TestGolden(t *testing.T) {
	golden(t, "text.golden", draw(t, Text, sample, sampleRows(), Options{}))
	golden(t, "text80.golden", draw(t, Text, sample, sampleRows(), Options{MaxWidth: 80}))
	golden(t, "markdown.golden", draw(t, Markdown, sample, sampleRows(), Options{MaxWidth: 80}))
	golden(t, "empty.golden", draw(t, Text, sample, nil, Options{})+draw(t, Markdown, sample, nil, Options{}))
}

func TestHeaderKeepsItsCase(t *testing.T) {
	for _, f := range []Format{Text, Markdown} {
		if got := draw(t, f, sample, sampleRows(), Options{}); !strings.Contains(got, "tok/s p50") || !strings.Contains(got, "case_id") {
			t.Errorf("headers were changed:\n%s", got)
		}
	}
}

// unescape reads a Markdown row back as GitHub does: a backslash takes the
// next character with it.
func unescape(row string) []string {
	var cells []string
	var b strings.Builder
	rs := []rune(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"))
	for i := 0; i < len(rs); i++ {
		switch {
		case rs[i] == '\\' && i+1 < len(rs):
			i++
			b.WriteRune(rs[i])
		case rs[i] == '|':
			cells = append(cells, b.String())
			b.Reset()
		default:
			b.WriteRune(rs[i])
		}
	}
	return append(cells, b.String())
}

func TestMarkdownKeepsCellsAndRows(t *testing.T) {
	for _, cell := range []string{"a|b", `back\slash`, `\|`, "`code` *bold* _it_ ~s~ $x$", "![x](y) <script> &amp;", "snake_case_name"} {
		got := draw(t, Markdown, []Column{{"a", Left}, {"b", Left}}, [][]string{{cell, "z"}}, Options{})
		lines := strings.Split(strings.TrimSpace(got), "\n")
		if len(lines) != 3 {
			t.Fatalf("%q: %d lines, want 3:\n%s", cell, len(lines), got)
		}
		cells := unescape(lines[2])
		if len(cells) != 2 || strings.TrimSpace(cells[0]) != cell || strings.TrimSpace(cells[1]) != "z" {
			t.Errorf("%q reads back as %q", cell, cells)
		}
	}
	got := draw(t, Markdown, []Column{{"a", Left}}, [][]string{{"one\ntwo"}}, Options{})
	if !strings.Contains(got, "one<br>two") || strings.Count(got, "\n") != 3 {
		t.Errorf("a line feed made another row:\n%s", got)
	}
	if got := escapeMarkdown("ttft_ms"); got != "ttft_ms" {
		t.Errorf("a name became %q", got)
	}
}

func TestAlignment(t *testing.T) {
	cols := []Column{{"name", Left}, {"number", Right}}
	rows := [][]string{{"a", "1"}, {"bbb", "1,000"}}
	if got := draw(t, Text, cols, rows, Options{}); !strings.Contains(got, "│ a    │      1 │") {
		t.Errorf("numbers are not on the right:\n%s", got)
	}
	if got := draw(t, Markdown, cols, rows, Options{}); !strings.Contains(got, "|:-----|-------:|") {
		t.Errorf("Markdown has no alignment:\n%s", got)
	}
}

// TestLocale draws in a second process, since tablewriter reads the locale
// when a program starts.
func TestLocale(t *testing.T) {
	if os.Getenv("TABLE_TEST_DRAW") != "" {
		os.Stdout.WriteString("<<<" + draw(t, Text, sample, sampleRows(), Options{MaxWidth: 80}) + ">>>")
		return
	}
	want := "<<<" + draw(t, Text, sample, sampleRows(), Options{MaxWidth: 80}) + ">>>"
	for _, env := range [][]string{
		{"LC_ALL=C", "TERM=dumb"},
		{"LC_ALL=ja_JP.UTF-8", "TERM=dumb"}, // it takes a terminal that it knows for narrow by itself
		{"LC_ALL=zh_CN.UTF-8", "TERM=linux"},
		{"LC_ALL=ja_JP.UTF-8", "TERM=xterm"},
		{"RUNEWIDTH_EASTASIAN=1"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLocale$")
		cmd.Env = append([]string{"TABLE_TEST_DRAW=1"}, env...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s draws another table:\n%s", env, out)
		}
	}
}

func TestCallersSlicesAreTheirOwn(t *testing.T) {
	row := []string{"a", "b"}
	cols := []Column{{"x", Left}, {"y", Left}}
	rows := [][]string{row, {"c", "d"}}
	long := [][]string{{strings.Repeat("word ", 30), "|"}}
	draw(t, Markdown, cols, long, Options{})
	draw(t, Text, cols, long, Options{MaxWidth: 20})
	if long[0][0] != strings.Repeat("word ", 30) || long[0][1] != "|" {
		t.Errorf("the caller's row became %q", long[0])
	}
	first := draw(t, Text, cols, rows, Options{})
	row[0] = "changed"
	if second := draw(t, Text, cols, rows, Options{}); first == second {
		t.Error("a changed row was not drawn")
	}
}

func TestRowsMustFit(t *testing.T) {
	for _, rows := range [][][]string{{{"a"}}, {{"a", "b", "c"}}, {{"a", "b"}, {}}} {
		var b bytes.Buffer
		err := Render(&b, Text, []Column{{"x", Left}, {"y", Left}}, rows, Options{})
		if err == nil || !strings.Contains(err.Error(), "2 columns") || b.Len() > 0 {
			t.Errorf("rows %q: error %v, output %q", rows, err, b.String())
		}
	}
	if err := Render(&bytes.Buffer{}, Text, nil, nil, Options{}); err == nil {
		t.Error("a table without columns was drawn")
	}
	if err := Render(&bytes.Buffer{}, Format(9), sample, nil, Options{}); err == nil {
		t.Error("an unknown format was drawn")
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain  text ":        "plain  text ",
		"\x1b[31mred\x1b[0m":  "␛[31mred␛[0m",
		"a\tb\r\nc\x00\x7f":   "a␉b␍\nc␀␡",
		"\x9b31m\xff":         `\x9b31m\xff`,
		"\u009b31m":           `\u009b31m`,
		"abc\u202edef\u200b":  `abc\u202edef\u200b`,
		"line\u2028separator": `line\u2028separator`,
		"tag\U000e0041":       `tag\U000e0041`,
		"é e\u0301 多 �":       "é e\u0301 多 �",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	for _, f := range []Format{Text, Markdown} {
		cell := "\x1b]0;title\x07\x1b[2J"
		if got := draw(t, f, []Column{{cell, Left}}, [][]string{{cell}}, Options{MaxWidth: 10}); strings.ContainsAny(got, "\x1b\x07") {
			t.Errorf("control characters reach the terminal: %q", got)
		}
	}
}

func TestSpacesStay(t *testing.T) {
	for _, f := range []Format{Text, Markdown} {
		got := draw(t, f, []Column{{"x", Left}}, [][]string{{"  two  spaces  "}}, Options{})
		if !strings.Contains(got, "   two  spaces   ") { // one more on each side: the padding
			t.Errorf("spaces were lost:\n%s", got)
		}
	}
}

func TestEmptyColumnsAndLinesStay(t *testing.T) {
	got := draw(t, Text, []Column{{"a", Left}, {"b", Left}}, [][]string{{"1\n\n3", ""}}, Options{})
	want := "│ 1 │   │\n│   │   │\n│ 3 │   │\n"
	if !strings.Contains(got, want) {
		t.Errorf("want the rows\n%s, got\n%s", want, got)
	}
}

func TestMaxWidth(t *testing.T) {
	rows := [][]string{
		{"id", "a sentence of some length that must be broken", strings.Repeat("x", 70)},
		{"id2", "多語言多語言多語言多語言多語言", "short"},
	}
	cols := []Column{{"a", Left}, {"the second column", Left}, {"c", Right}}
	for _, width := range []int{40, 60, 80, 160} {
		got := draw(t, Text, cols, rows, Options{MaxWidth: width})
		for line := range strings.Lines(got) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("a line is %d wide, at most %d wanted:\n%s", w, width, got)
			}
		}
		if !strings.Contains(got, "│ id  │") {
			t.Errorf("the narrow column gave way:\n%s", got)
		}
		if n := strings.Count(got, "x"); n != 70 {
			t.Errorf("%d of 70 characters are left:\n%s", n, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"one two three", 7, "one two\nthree"},
		{"one two three", 8, "one two\nthree"},
		{"one  two", 4, "one \ntwo"},
		{"abcdefghij", 4, "abcd\nefgh\nij"},
		{"  ab cd", 5, "  ab\ncd"},
		{"a\n\nbc de", 3, "a\n\nbc\nde"},
		{"多語言", 4, "多語\n言"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301\ne\u0301"},
	} {
		if got := wrap(c.in, c.limit); got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorIsReturned(t *testing.T) {
	for _, f := range []Format{Text, Markdown} {
		if err := Render(full{}, f, sample, sampleRows(), Options{}); err == nil {
			t.Error("a full disk went unnoticed")
		}
	}
}
