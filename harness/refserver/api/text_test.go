package api

import (
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/sched"
	"touchstone/harness/refserver/token"
)

func tinyTokenizer(t *testing.T) *token.Tokenizer {
	t.Helper()
	f, err := gguf.Open("../../../fixtures/models/tiny/touchstone-tiny-f32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	tok, err := token.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// What is held back is never more than could begin a stop string, and comes out
// when it does not.
func TestAssemblerHoldsBackWhatMayMatch(t *testing.T) {
	tok := tinyTokenizer(t)
	byteOf := func(c byte) int {
		ids := tok.Encode(string(c), false, false)
		if len(ids) != 1 {
			t.Fatalf("%q is %d tokens", c, len(ids))
		}
		return ids[0]
	}
	type step struct{ in, out string }
	for name, c := range map[string]struct {
		stop   []string
		min    int
		steps  []step // one character in, text out
		reason string
	}{
		"none":              {nil, 0, []step{{"a", "a"}, {"b", "b"}}, ""},
		"match":             {[]string{"abc"}, 0, []step{{"x", "x"}, {"a", ""}, {"b", ""}, {"c", ""}}, "abc"},
		"false start":       {[]string{"abc"}, 0, []step{{"a", ""}, {"b", ""}, {"d", "abd"}}, ""},
		"restart":           {[]string{"aab"}, 0, []step{{"a", ""}, {"a", ""}, {"a", "a"}, {"b", ""}}, "aab"},
		"held at the end":   {[]string{"abc"}, 0, []step{{"a", ""}, {"b", "ab"}}, ""},
		"the longer one":    {[]string{"abcd", "bx"}, 0, []step{{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}, "abcd"},
		"the other one":     {[]string{"abcd", "bx"}, 0, []step{{"a", ""}, {"b", ""}, {"x", "a"}}, "bx"},
		"too early":         {[]string{"ab"}, 2, []step{{"a", ""}, {"b", "ab"}, {"c", "c"}}, ""},
		"late enough":       {[]string{"ab"}, 2, []step{{"x", "x"}, {"a", ""}, {"b", ""}}, "ab"},
		"one letter, twice": {[]string{"a"}, 0, []step{{"b", "b"}, {"a", ""}}, "a"},
	} {
		a := assembler{detok: tok.NewDetokenizer(), stop: c.stop, min: c.min}
		for i, s := range c.steps {
			var finish sched.Finish
			if i == len(c.steps)-1 {
				finish = sched.FinishLength
			}
			if got := a.push(byteOf(s.in[0]), finish); got != s.out {
				t.Errorf("%s, step %d (%s): %q, want %q", name, i, s.in, got, s.out)
			}
		}
		if a.reason != c.reason || (a.finish == "stop") != (c.reason != "") {
			t.Errorf("%s: ended by %q (%s), want %q", name, a.reason, a.finish, c.reason)
		}
	}
}
