package spec

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func positive(v string) error {
	if strings.HasPrefix(v, "-") {
		return fmt.Errorf("%s is below 0", v)
	}
	return nil
}

var params = []Param{Layers("all"), {Name: "factor", Default: "8", Check: positive}}

func TestValues(t *testing.T) {
	for given, want := range map[string]map[string]string{
		"":                    {"layers": "all", "factor": "8"},
		"factor=2":            {"layers": "all", "factor": "2"},
		"layers=0-1,factor=3": {"layers": "0-1", "factor": "3"},
	} {
		if got, err := Values(given, params); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q is read as %v, %v; want %v", given, got, err, want)
		}
	}
	for given, want := range map[string]string{
		"layer=1":           `did you mean "layers"?`,
		"factor":            "write key=value",
		"factor=":           "write key=value",
		"factor=1,":         "write key=value",
		"factor=1,factor=2": "given twice",
		"factor=-1":         "parameter factor: -1 is below 0",
		"layers=2-1":        "names no layers",
	} {
		if _, err := Values(given, params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", given, err, want)
		}
	}
}

func TestCutAndFormat(t *testing.T) {
	name, rest, err := Cut("scale:layers=1,factor=2")
	if err != nil || name != "scale" || rest != "layers=1,factor=2" {
		t.Fatalf("cut into %q and %q, %v", name, rest, err)
	}
	values, err := Values(rest, params)
	if err != nil {
		t.Fatal(err)
	}
	if got := Format(name, params, values); got != "scale:layers=1,factor=2" {
		t.Errorf("formatted as %q", got)
	}
	if _, _, err := Cut("scale:"); err == nil {
		t.Error("a colon with nothing behind it passes")
	}
}

func TestLayerRange(t *testing.T) {
	for value, want := range map[string][2]int{"all": {0, 4}, "half": {0, 1}, "3": {3, 3}, "1-4": {1, 4}} {
		if first, last, err := LayerRange(value, 5); err != nil || [2]int{first, last} != want {
			t.Errorf("%s: %d to %d, %v; want %v", value, first, last, err, want)
		}
	}
	for _, value := range []string{"5", "0-5", "-1", "x", "", "2-1"} {
		if _, _, err := LayerRange(value, 5); err == nil {
			t.Errorf("%q passes for a model of 5 layers", value)
		}
	}
}

func TestSuggest(t *testing.T) {
	for word, want := range map[string]string{"qkv-swpa": `did you mean "qkv-swap"?`, "ul": `did you mean "ulp"?`, "banana": "known: qkv-swap, ulp"} {
		if got := Suggest(word, []string{"qkv-swap", "ulp"}); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s; want %s", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"layers", "layer", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
