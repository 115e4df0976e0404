package matchers_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"touchstone/harness/coherence"
	"touchstone/harness/matchers"
)

const loop = "We met. lock lock lock lock lock lock lock lock lock lock lock lock"

func TestBeCoherent(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect("The capital of Norway is Oslo.").To(matchers.BeCoherent())
	g.Expect(loop).NotTo(matchers.BeCoherent())
	g.Expect(coherence.Text{Text: loop}).NotTo(matchers.BeCoherent())
	g.Expect(loop).To(matchers.BeCoherent(matchers.WithTags("repeat")))
	g.Expect(coherence.Text{Text: loop, Tags: []string{"repeat"}}).To(matchers.BeCoherent())
	g.Expect(loop).To(matchers.BeCoherent(matchers.WithBaseline(loop)))
	g.Expect(loop).NotTo(matchers.BeCoherent(matchers.WithBaseline("We met.")))
	prompt := strings.Repeat("Say what you see on the table. ", 4)
	g.Expect(prompt).NotTo(matchers.BeCoherent(matchers.WithPrompt(prompt)))
}

// The tags of the caller's text are not written to, whatever its capacity.
func TestBeCoherentLeavesTagsAlone(t *testing.T) {
	tags := make([]string, 1, 4)
	tags[0] = "code"
	if _, err := matchers.BeCoherent(matchers.WithTags("repeat")).Match(coherence.Text{Text: "x", Tags: tags}); err != nil {
		t.Fatal(err)
	}
	if got := tags[:2][1]; got != "" {
		t.Fatalf("the matcher wrote %q behind the caller's tags", got)
	}
}

func TestBeCoherentErrors(t *testing.T) {
	for _, c := range []struct {
		actual any
		opt    matchers.CoherentOption
		want   string
	}{
		{7, matchers.WithTags(), "BeCoherent expects a string or a coherence.Text, got int"},
		{nil, matchers.WithTags(), "BeCoherent expects a string or a coherence.Text, got <nil>"},
		{"x", matchers.WithTags("cod"), `BeCoherent: unknown tag "cod": use one of art, code`},
	} {
		ok, err := matchers.BeCoherent(c.opt).Match(c.actual)
		if ok || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: got %v, %v; want the error %s", c.actual, ok, err, c.want)
		}
	}
}

func TestBeCoherentMessages(t *testing.T) {
	m := matchers.BeCoherent()
	if ok, err := m.Match("ok!!!!!!!!!!!!!!!!"); ok || err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
	want := "Expected text\n    <string>: ok!!!!!!!!!!!!!!!!\nto be coherent, but\n" +
		`    char-run: one character is repeated: "!!!!!!!!!!!!!!!!" at byte 2 (measured 16, limit 16)`
	if got := m.FailureMessage("ok!!!!!!!!!!!!!!!!"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if ok, err := m.Match("fine"); !ok || err != nil {
		t.Fatalf("got %v, %v", ok, err)
	}
	if got, want := m.NegatedFailureMessage("fine"), "Expected text\n    <string>: fine\nnot to be coherent"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
