package rounds

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"touchstone/harness/load"
	"touchstone/harness/stat"
	"touchstone/harness/verdict"
)

// healthy are pairs of rounds of two builds, with all that a round tells.
func healthy(change float64, pairs int) []Round {
	w := newWorld(noise{SD: 0.005, Shared: 0.5}, change, rand.New(rand.NewPCG(1, 8)))
	rs := w.some(pairs)
	for i := range rs {
		prompt, output, cached := 512.0, 128.0, 0.1
		rs[i].Workload, rs[i].PromptMean, rs[i].OutputMean, rs[i].CachedShare = "founding", &prompt, &output, &cached
		rs[i].Digest = fmt.Sprint("digest ", i)
	}
	return rs
}

func unpaired(rs []Round) []Round {
	for i := range rs {
		rs[i].Pair = 0
	}
	return rs
}

func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		change   float64
		decision Decision
		status   verdict.Status
	}{
		{-0.05, Regressed, verdict.Fail},
		{-0.015, Slower, verdict.Pass},
		{0, NoDifference, verdict.Pass},
		{0.05, Faster, verdict.Pass},
		{-0.03, Undecided, verdict.Inconclusive},
	} {
		res := Judge(healthy(c.change, 20), Options{})
		m := res.metric("output_tokens_per_s")
		if m.Decision != c.decision || res.Status != c.status || !res.Paired || res.NeedMore {
			t.Errorf("true %+.1f %%: %v, %q (%s)", 100*c.change, res.Status, m.Decision, m.Because)
		}
		if m.Interval.Lo > c.change || m.Interval.Hi < c.change || m.Rank == nil || m.Bootstrap == nil || m.MDEAfter == nil {
			t.Errorf("true %+.1f %%: %+v", 100*c.change, m)
		}
		if !strings.HasSuffix(m.Because, ".") || !strings.HasPrefix(m.Because, "Output throughput: ") {
			t.Errorf("because %q", m.Because)
		}
	}
}

// TestDirection: a latency that rises is a regression, one that falls isn't.
func TestDirection(t *testing.T) {
	if m := Judge(healthy(-0.05, 10), Options{}).metric("tpot_p50_ms"); m.Decision != Regressed || *m.Change < 0.04 {
		t.Errorf("TPOT of a slower build: %q, %+.3f", m.Decision, *m.Change)
	}
	if m := Judge(healthy(0.05, 10), Options{}).metric("tpot_p50_ms"); m.Decision != Faster || *m.Change > -0.04 {
		t.Errorf("TPOT of a faster build: %q, %+.3f", m.Decision, *m.Change)
	}
}

func TestUndecidedAsksForMore(t *testing.T) {
	res := Judge(healthy(0, 4), Options{})
	if res.Status != verdict.Inconclusive || !res.NeedMore || res.NextLook != 10 || res.MorePairs != 6 {
		t.Errorf("four pairs: %v, more %v, next look %d, %d more", res.Status, res.NeedMore, res.NextLook, res.MorePairs)
	}
	res = Judge(healthy(-0.03, 10), Options{})
	if res.Status != verdict.Inconclusive || !res.NeedMore || res.NextLook != 20 || res.MorePairs < 10 {
		t.Errorf("ten pairs at the margin: %v, more %v, next look %d, %d more", res.Status, res.NeedMore, res.NextLook, res.MorePairs)
	}
	if res = Judge(healthy(-0.03, 10), Options{MaxPairs: 10}); res.NeedMore || res.NextLook != 0 || res.MorePairs == 0 {
		t.Errorf("at the cap: more %v, next look %d, %d more", res.NeedMore, res.NextLook, res.MorePairs)
	}
}

func TestUnpaired(t *testing.T) {
	one := Judge(unpaired(healthy(-0.2, 1)), Options{})
	if one.Status != verdict.Inconclusive || one.Paired || one.MorePairs != 2 || !strings.Contains(one.Because, "a single run a side") {
		t.Errorf("single runs: %v, %d more: %s", one.Status, one.MorePairs, one.Because)
	}
	res := Judge(unpaired(healthy(-0.2, 6)), Options{})
	if res.Status != verdict.Fail || len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "alternated") {
		t.Errorf("six a side, −20 %%: %v, %v", res.Status, res.Warnings)
	}
}

func TestVoid(t *testing.T) {
	half := func(f func(*Round), side Side) func([]Round) []Round {
		return func(rs []Round) []Round {
			for i := range rs {
				if rs[i].Side == side {
					f(&rs[i])
				}
			}
			return rs
		}
	}
	both := func(f, g func([]Round) []Round) func([]Round) []Round {
		return func(rs []Round) []Round { return g(f(rs)) }
	}
	wrong := func(r *Round) { r.Incorrect = []string{"coherence.word-loop"} }
	set := func(p **float64, v float64) { *p = &v }
	for _, c := range []struct {
		name   string
		change func([]Round) []Round
		reason string
		status verdict.Status
	}{
		{"incorrect b", half(wrong, B), VoidIncorrect, verdict.Fail},
		{"incorrect a", half(wrong, A), VoidIncorrect, verdict.Inconclusive},
		{"incorrect both", both(half(wrong, A), half(wrong, B)), VoidIncorrect, verdict.Inconclusive},
		{"a void round", func(rs []Round) []Round { rs[3].Void = []string{"the client was the bottleneck"}; return rs }, VoidRound, verdict.Inconclusive},
		{"failures", func(rs []Round) []Round { rs[5].Successes--; return rs }, VoidFailed, verdict.Inconclusive},
		{"no requests", func(rs []Round) []Round { rs[5].Requests, rs[5].Successes = 0, 0; return rs }, VoidFailed, verdict.Inconclusive},
		{"output length", half(func(r *Round) { set(&r.OutputMean, 120) }, B), VoidLengths, verdict.Inconclusive},
		{"prompt length", half(func(r *Round) { set(&r.PromptMean, 400) }, B), VoidLengths, verdict.Inconclusive},
		{"cache", half(func(r *Round) { set(&r.CachedShare, 0.6) }, B), VoidCache, verdict.Inconclusive},
		{"same digest", func(rs []Round) []Round { rs[4].Digest = rs[0].Digest; return rs }, VoidDuplicate, verdict.Inconclusive},
		{"same numbers", func(rs []Round) []Round { rs[4].Values = rs[0].Values; return rs }, VoidDuplicate, verdict.Inconclusive},
		{"workloads", func(rs []Round) []Round { rs[4].Workload = "chat"; return rs }, VoidWorkload, verdict.Inconclusive},
		{"pairs", func(rs []Round) []Round { rs[4].Pair = 1; return rs }, VoidPair, verdict.Inconclusive},
		{"one-sided", half(func(r *Round) { delete(r.Values, "tpot_p50_ms") }, B), VoidOneSided, verdict.Inconclusive},
		{"zero", func(rs []Round) []Round { rs[4].Values["ttft_p50_ms"] = 0; return rs }, VoidValue, verdict.Inconclusive},
		{"no b", func(rs []Round) []Round { return half(func(r *Round) { r.Side = A }, B)(rs) }, VoidEmpty, verdict.Inconclusive},
	} {
		res := Judge(c.change(healthy(0.1, 10)), Options{})
		if res.Status != c.status || len(res.Void) == 0 || res.NeedMore {
			t.Errorf("%s: %v, void %+v", c.name, res.Status, res.Void)
			continue
		}
		found := false
		for _, v := range res.Void {
			found = found || v.Reason == c.reason
		}
		if !found {
			t.Errorf("%s: void because of %+v, want %s", c.name, res.Void, c.reason)
		}
		for _, m := range res.Metrics {
			if m.Decision != Undecided {
				t.Errorf("%s: %s is %q though void", c.name, m.Name, m.Decision)
			}
		}
	}
	if res := Judge(healthy(0, 10), Options{}); len(res.Void) != 0 || res.Status != verdict.Pass {
		t.Errorf("sound rounds are void: %+v", res.Void)
	}
}

// TestScatterOfLengthsIsNoChange: a server that may stop when it likes gives
// other lengths each round; their means differ, but not for sure.
func TestScatterOfLengthsIsNoChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	rs := healthy(0, 10)
	for i := range rs {
		v := 128 + 8*rng.NormFloat64()
		rs[i].OutputMean = &v
	}
	if res := Judge(rs, Options{}); len(res.Void) != 0 {
		t.Errorf("void: %+v", res.Void)
	}
}

func TestNothingMeasured(t *testing.T) {
	rs := healthy(0, 10)
	for i := range rs {
		delete(rs[i].Values, "tpot_p50_ms")
	}
	res := Judge(rs, Options{})
	if res.Status != verdict.Pass || len(res.Warnings) == 0 || !strings.Contains(res.Warnings[0], "TPOT p50 was not measured") {
		t.Errorf("without TPOT on either side: %v, %v", res.Status, res.Warnings)
	}
	for i := range rs {
		rs[i].Values = nil
	}
	if res := Judge(rs, Options{}); res.Status != verdict.Inconclusive || !strings.Contains(res.Because, "nothing can be judged") {
		t.Errorf("no values at all: %v, %s", res.Status, res.Because)
	}
	if res := Judge(nil, Options{}); res.Status != verdict.Inconclusive {
		t.Errorf("no rounds at all: %v", res.Status)
	}
}

// TestOrderAndJSON: a verdict depends on nothing but the rounds, and survives
// being written down.
func TestOrderAndJSON(t *testing.T) {
	rs := healthy(-0.015, 10)
	want := Judge(rs, Options{})
	rand.New(rand.NewPCG(1, 10)).Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
	if got := Judge(rs, Options{}); !reflect.DeepEqual(got, want) {
		t.Error("the order of the rounds changes the verdict")
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(b, &back); err != nil || back.Status != want.Status || back.metric("ttft_p50_ms").Decision != want.metric("ttft_p50_ms").Decision {
		t.Errorf("read back: %v, %v", back.Status, err)
	}
}

func TestOptionsCheck(t *testing.T) {
	if err := (Options{Margin: map[string]float64{"": 0.05, "ttft_p50_ms": 0.1}, MaxPairs: 30}).Check(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Margin: map[string]float64{"ttft": 0.1}}, `"ttft": no such metric`},
		{Options{Margin: map[string]float64{"": 3}}, "0.03 for 3 %"},
		{Options{Primary: []string{"speed"}}, `"speed": no such metric`},
		{Options{Primary: []string{}}, "at least one"},
		{Options{Looks: []int{10, 5}}, "ascending"},
		{Options{MaxPairs: 1}, "2 or more"},
		{Options{Confidence: 95}, "0.995 for 99.5 %"},
	} {
		if err := c.o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if got := Looks(6, 20); !reflect.DeepEqual(got, []int{6, 12, 20}) {
		t.Errorf("looks from 6 to 20: %v", got)
	}
}

func TestOf(t *testing.T) {
	ptr := func(v float64) *float64 { return &v }
	prompts, outputs := 5000, 1000
	l := func(n int) *load.Latency {
		return &load.Latency{Summary: stat.Summary{N: n, P50: 1, P90: 2, P99: 3}}
	}
	m := load.Metrics{Requests: 10, Successes: 10, Seconds: ptr(4), OutputTokensPerS: ptr(250), RequestsPerS: ptr(2.5),
		PromptTokens: &prompts, OutputTokens: &outputs, TTFT: l(999), TPOT: l(1000)}
	r := Of(m)
	want := map[string]float64{"output_tokens_per_s": 250, "requests_per_s": 2.5, "ttft_p50_ms": 1, "ttft_p90_ms": 2,
		"tpot_p50_ms": 1, "tpot_p90_ms": 2, "tpot_p99_ms": 3}
	if !reflect.DeepEqual(r.Values, want) {
		t.Errorf("values %v, want %v: a p99 takes 1,000 samples", r.Values, want)
	}
	if *r.PromptMean != 500 || *r.OutputMean != 100 || r.Seconds != 4 || r.Samples["tpot_p99_ms"] != 1000 {
		t.Errorf("round %+v", r)
	}
	m.Plateau = &load.Plateau{OutputTokensPerS: ptr(300), RequestsPerS: 3}
	if r := Of(m); r.Values["output_tokens_per_s"] != 300 || r.Values["requests_per_s"] != 3 {
		t.Errorf("over the plateau: %v", r.Values)
	}
}

func TestCalibration(t *testing.T) {
	aa, err := Calibrate(healthy(0, 10), Options{})
	if err != nil || !aa.Passed || !aa.WithinLaunch || aa.Pairs != 10 || aa.Workload != "founding" {
		t.Fatalf("A/A: %+v, %v", aa, err)
	}
	// Half of a noise of 0.5 % is shared, so pairs scatter by 0.5 %.
	n := aa.Metrics["output_tokens_per_s"]
	if n.PairSD < 0.0025 || n.PairSD > 0.0085 || n.LaunchSD != nil {
		t.Errorf("noise %+v", n)
	}
	before := aa.MDE(Options{})
	if len(before) != 3 || before["output_tokens_per_s"] < 0.001 || before["output_tokens_per_s"] > 0.02 {
		t.Errorf("minimum detectable effects %v", before)
	}
	res := Judge(healthy(-0.05, 10), Options{AA: aa})
	if m := res.metric("output_tokens_per_s"); res.Status != verdict.Fail || m.MDEBefore == nil || m.Margin != DefaultMargin {
		t.Errorf("with an A/A: %v, %+v", res.Status, m)
	}
	if len(res.Warnings) == 0 || !strings.Contains(strings.Join(res.Warnings, "\n"), "within-launch") {
		t.Errorf("warnings %q", res.Warnings)
	}
	aa.Passed = false
	if res := Judge(healthy(-0.05, 10), Options{AA: aa}); res.Status != verdict.Inconclusive || res.Void[0].Reason != VoidAA {
		t.Errorf("on a machine that tells equal builds apart: %v, %+v", res.Status, res.Void)
	}
	if aa, err := Calibrate(healthy(-0.05, 10), Options{}); err != nil || aa.Passed {
		t.Errorf("an A/A of different builds: %+v, %v", aa, err)
	}
	if _, err := Calibrate(healthy(0, 3), Options{}); err == nil {
		t.Error("three pairs were taken for an A/A")
	}
}

// TestLaunchesRaiseTheMargin: four starts whose ratios lie at ±4 % spread by
// 0.04·√(4/3) = 4.6 %, so with one start a side equal builds may lie 9.2 %
// apart. A spread below the margin changes nothing.
func TestLaunchesRaiseTheMargin(t *testing.T) {
	launched := func(by float64) []Round {
		rs := healthy(0, 20)
		for i := range rs {
			rs[i].Launch = 1 + (rs[i].Pair-1)/5
			if rs[i].Side == B {
				for name, v := range rs[i].Values {
					rs[i].Values[name] = v * math.Exp(by*float64(1-2*(rs[i].Launch%2)))
				}
			}
		}
		return rs
	}
	aa, err := Calibrate(launched(0.04), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if aa.Launches != 4 || aa.WithinLaunch || aa.Metrics["output_tokens_per_s"].LaunchSD == nil {
		t.Fatalf("A/A over four starts: %+v", aa)
	}
	m := Judge(healthy(-0.05, 20), Options{AA: aa}).metric("output_tokens_per_s")
	if math.Abs(m.Margin-0.0924) > 0.01 || m.Decision == Regressed || len(m.Warnings) == 0 {
		t.Errorf("margin %.4f, %q, %v; want about 0.0924, and a warning", m.Margin, m.Decision, m.Warnings)
	}
	if aa, err = Calibrate(launched(0.002), Options{}); err != nil {
		t.Fatal(err)
	}
	if m := Judge(healthy(-0.05, 20), Options{AA: aa}).metric("output_tokens_per_s"); m.Margin != DefaultMargin || m.Decision != Regressed {
		t.Errorf("margin %.4f, %q; a quiet A/A must not move it", m.Margin, m.Decision)
	}
}

func TestWarnings(t *testing.T) {
	rs := healthy(0, 20)
	for i := range rs {
		if rs[i].Side == B { // B slows down against A, by 4 % over the comparison
			rs[i].Values["output_tokens_per_s"] *= 1 - 0.04*float64(i)/float64(len(rs))
		}
	}
	if got := strings.Join(Judge(rs, Options{}).Warnings, "\n"); !strings.Contains(got, "the difference itself drifted") {
		t.Errorf("a build that slows down: %q", got)
	}
	rs = healthy(0, 10)
	for i := range rs { // A always first
		rs[i].Index = 2*rs[i].Pair - 1
		if rs[i].Side == B {
			rs[i].Index++
		}
	}
	if got := strings.Join(Judge(rs, Options{}).Warnings, "\n"); !strings.Contains(got, "A B B A") {
		t.Errorf("A always first: %q", got)
	}
	if got := strings.Join(Judge(healthy(0, 10)[:19], Options{}).Warnings, "\n"); !strings.Contains(got, "pair 10 has one round only") {
		t.Errorf("half a pair: %q", got)
	}
}
