package matchers

import (
	"strings"
	"testing"

	"touchstone/harness/verdict"
)

func TestPass(t *testing.T) {
	for name, c := range map[string]struct {
		findings []verdict.Finding
		want     bool
	}{
		"no finding":   {nil, true},
		"passed":       {[]verdict.Finding{{Status: verdict.Pass}}, true},
		"known":        {[]verdict.Finding{{Status: verdict.Known}}, true},
		"failed":       {[]verdict.Finding{{Status: verdict.Pass}, {Status: verdict.Fail}}, false},
		"inconclusive": {[]verdict.Finding{{}}, false},
		"our error":    {[]verdict.Finding{{Status: verdict.Error}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Pass().Match(c.findings)
			if err != nil || got != c.want {
				t.Errorf("matches %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestPassWantsFindings(t *testing.T) {
	if _, err := Pass().Match("fine"); err == nil || !strings.Contains(err.Error(), "[]verdict.Finding") {
		t.Errorf("a string is no finding, and the error is %v", err)
	}
}

func TestPassMessage(t *testing.T) {
	m := Pass()
	if _, err := m.Match([]verdict.Finding{{Check: "a.b", Status: verdict.Fail, Summary: "it broke", Measured: "3", Limit: "0", Where: "x/y", Reproduce: "curl …"}}); err != nil {
		t.Fatal(err)
	}
	const want = `fail a.b: it broke
    where     x/y
    limit     0
    measured  3
    reproduce curl …`
	if got := m.FailureMessage(nil); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := m.NegatedFailureMessage(nil); !strings.Contains(got, "all of them do") {
		t.Errorf("negated: %s", got)
	}
	many := make([]verdict.Finding, 7)
	if _, err := m.Match(many); err != nil {
		t.Fatal(err)
	}
	if got := m.FailureMessage(nil); !strings.HasSuffix(got, "… and 2 more") {
		t.Errorf("seven findings read\n%s", got)
	}
}
