package coherence

import (
	"slices"
	"strings"
	"testing"
)

// try is one text and whether the check under test must fire on it.
type try struct {
	name  string
	in    Text
	fires bool
}

func said(s string) Text { return Text{Text: s} }

func beside(s, baseline string) Text { return Text{Text: s, Baseline: &baseline} }

func find(found []Finding, check string) *Finding {
	i := slices.IndexFunc(found, func(f Finding) bool { return f.Check == check })
	if i < 0 {
		return nil
	}
	return &found[i]
}

// tryCheck holds one check against texts.
func tryCheck(t *testing.T, check string, tries ...try) {
	t.Helper()
	for _, c := range tries {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			f := find(Run(c.in), check)
			if (f != nil) != c.fires {
				t.Fatalf("%s: fires %v, want %v: %+v", check, f != nil, c.fires, f)
			}
		})
	}
}

// tryTags holds the check's Exempt list to its word: with each tag of the
// vocabulary at hand, the check is silent when it names the tag and fires when
// it does not.
func tryTags(t *testing.T, check, text string, besides ...Tag) {
	t.Helper()
	i := slices.IndexFunc(registry, func(c Check) bool { return c.Name == check })
	if i < 0 {
		t.Fatalf("no check %q", check)
	}
	for _, tag := range everyTag() {
		silent := slices.Contains(registry[i].Exempt, tag) || slices.Contains(besides, tag)
		f := find(Run(Text{Text: text, Tags: []string{string(tag)}}), check)
		if (f == nil) != silent {
			t.Errorf("%s with the tag %s: silent %v, want %v", check, tag, f == nil, silent)
		}
	}
}

func everyTag() []Tag {
	tags := []Tag{TagScriptMixed, "script:Thai", "language:de", "language:fi"}
	for _, v := range Vocabulary() {
		if !strings.Contains(string(v.Tag), "<") {
			tags = append(tags, v.Tag)
		}
	}
	return tags
}

// cycle returns total words that come round after n different ones, n at most
// 60.
func cycle(n, total int) string {
	const all = "dealer lamp pet window orange drum needle harbour winter copper velvet falcon market ladder basket meadow kettle bridge candle puppy " +
		"garlic school sunset anchor timber walnut pocket mirror thunder canyon apple barrel cherry donkey engine feather garden hammer island jacket " +
		"kitchen lantern marble napkin oyster pepper quarry rabbit saddle tunnel urchin violin wagon yellow zipper acorn button cactus dancer elbow"
	words := strings.Fields(all)[:n]
	out := make([]string, total)
	for i := range out {
		out[i] = words[i%n]
	}
	return strings.Join(out, " ")
}

// prose is running text of some length without any repetition.
const prose = "The lighthouse keeper counts ships before supper. Most of them carry timber from the north, a few bring salt, " +
	"and once in a while a captain waves. When fog comes in, she lights the lamp early and waits for the horn to answer. " +
	"Her brother, who lives in the village below, sends bread with the morning boat and asks about the weather."
