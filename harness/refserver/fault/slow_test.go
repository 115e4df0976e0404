package fault

import (
	"testing"
	"time"

	"touchstone/harness/refserver/llama"
	"touchstone/harness/refserver/sched"
)

// Each fault of speed lengthens the steps that it names, by what it says, and
// no other step. The clock is a number: 10 ms without the fault.
func TestSpeedFaults(t *testing.T) {
	decode := func(sequences, longest int) sched.Step { return sched.Step{Sequences: sequences, Longest: longest} }
	prefill := func(tokens int) sched.Step {
		return sched.Step{Sequences: 1, PromptTokens: tokens, LongestPrompt: tokens, Longest: tokens}
	}
	type at struct {
		step sched.Step
		want time.Duration // microseconds
	}
	for given, steps := range map[string][]at{
		"slow":                              {{decode(1, 9), 10500}, {prefill(900), 10500}},
		"slow:percent=1":                    {{decode(1, 9), 10100}},
		"slow:percent=-5":                   {{decode(1, 9), 9500}},
		"slow-batch":                        {{decode(64, 9), 10000}, {decode(65, 9), 10500}},
		"slow-batch:percent=100,above=0":    {{decode(1, 9), 20000}},
		"slow-prefill":                      {{prefill(512), 10000}, {prefill(513), 10500}, {decode(1, 900), 10000}},
		"slow-prefill:percent=40,above=100": {{prefill(101), 14000}},
		"slow-length":                       {{decode(1, 0), 10000}, {decode(1, 100), 40000}, {decode(9, 200), 70000}},
		"slow-length:percent=-90":           {{decode(1, 100), 1000}, {decode(1, 200), 0}},
		"slow-after":                        {{decode(1, 9), 10000}, {prefill(256), 10000}, {decode(1, 257), 10000}, {prefill(257), 10000}, {decode(1, 9), 30000}, {prefill(9), 30000}},
		"slow-after:percent=50,above=0":     {{prefill(1), 10000}, {decode(1, 2), 15000}},
	} {
		s, err := Parse(given)
		if err != nil {
			t.Error(err)
			continue
		}
		pace := s.Pace()
		for i, a := range steps {
			if got := pace(a.step, 10*time.Millisecond); got != a.want*time.Microsecond {
				t.Errorf("%s, step %d (%+v): %v, want %v", given, i, a.step, got, a.want*time.Microsecond)
			}
		}
	}
}

// A build may be served twice: what one engine remembers is not the other's.
func TestSlowAfterHasItsOwnMemory(t *testing.T) {
	s, err := Parse("slow-after:above=0")
	if err != nil {
		t.Fatal(err)
	}
	one, other := s.Pace(), s.Pace()
	one(sched.Step{LongestPrompt: 1}, time.Second)
	if d := other(sched.Step{}, time.Second); d != time.Second {
		t.Errorf("an engine that saw no prompt has steps of %v", d)
	}
}

func TestKindsDontMix(t *testing.T) {
	s, err := Parse("slow")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Install(&llama.Hooks{}, nil), "slow:percent=5", "changes the clock")
	if s, err = Parse("qkv-shard-order"); err != nil || s.Pace() != nil {
		t.Errorf("a fault of the arithmetic has a pace: %v", err)
	}
}

func TestSpeedFaultsRefuse(t *testing.T) {
	for given, want := range map[string]string{
		"slow:percent=-100":      "no percentage",
		"slow:percent=NaN":       "no percentage",
		"slow:percent=5%":        "no percentage",
		"slow-batch:above=-1":    "no number from 0 on",
		"slow-prefill:above=1.5": "no number from 0 on",
	} {
		_, err := Parse(given)
		wantError(t, err, given, want)
	}
}
