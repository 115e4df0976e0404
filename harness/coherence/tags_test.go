package coherence

import (
	"slices"
	"strings"
	"testing"
)

func TestParseTags(t *testing.T) {
	got, err := ParseTags([]string{"table", "code", "script:Thai", "script:mixed", "language:de", "code"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []Tag{"code", "language:de", "script:Thai", "script:mixed", "table"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, err := ParseTags(nil); err != nil || len(got) != 0 {
		t.Errorf("no tags: got %v, %v", got, err)
	}
}

func TestParseTagsErrors(t *testing.T) {
	for tag, want := range map[string]string{
		"cod":           `unknown tag "cod": use one of art, code, digits`,
		"":              `unknown tag "": use one of art`,
		"Code":          `unknown tag "Code"`,
		"script:Thia":   `tag "script:Thia": no script has the Unicode name "Thia" (write e.g. script:Thai`,
		"script:thai":   `tag "script:thai": no script`,
		"script:":       `tag "script:": no script`,
		"script:<Name>": `tag "script:<Name>": no script`,
		"language:zq":   `tag "language:zq": "zq" is no ISO 639 language code`,
		"language:DE":   `tag "language:DE": "DE" is no ISO 639`,
		"language:":     `tag "language:": "" is no ISO 639`,
	} {
		if _, err := ParseTags([]string{"code", tag}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s…", tag, err, want)
		}
	}
}

// Every tag that a check names is in the vocabulary.
func TestExemptTagsAreKnown(t *testing.T) {
	for _, c := range Checks() {
		for _, tag := range c.Exempt {
			if err := ValidTag(string(tag)); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}
