package load

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"touchstone/harness/exchange"
)

// paced is a streamed reply that starts after noon, gets its first token after
// first, and one more every gap; it ends with the last.
func paced(id string, start, first, gap time.Duration, tokens int) *exchange.Exchange {
	var events []event
	for i := range tokens {
		extra := ""
		if i == tokens-1 {
			extra = stop
		}
		events = append(events, content(first+time.Duration(i)*gap, "a", extra))
	}
	return stream(id, start, append(events, usage(first+time.Duration(tokens-1)*gap, 10, tokens, ""))...)
}

// closedLoop is a load of n requests over slots: each sends the next one as
// soon as its last one is done. scale stretches the gaps of the i-th request
// of a slot.
func closedLoop(slots, rounds, tokens int, first, gap time.Duration, scale func(i int) float64) []*exchange.Exchange {
	var out []*exchange.Exchange
	for s := range slots {
		at := time.Duration(s) * gap / time.Duration(slots) // the phases are spread
		for i := range rounds {
			g := time.Duration(float64(gap) * scale(i))
			e := paced(fmt.Sprintf("%d-%d", s, i), at, first, g, tokens)
			at += e.Timeline.End
			out = append(out, e)
		}
	}
	return out
}

func steady(int) float64 { return 1 }

// Four slots, 10 requests each, of 11 tokens: the first after 100 ms, then one
// each 10 ms, so a request takes 200 ms and a slot makes 55 tokens a second.
func TestPlateauClosed(t *testing.T) {
	m := How{Concurrency: 4}.Measure(closedLoop(4, 10, 11, 100*ms, 10*ms, steady))
	p := m.Plateau
	if p == nil {
		t.Fatalf("no plateau: %s", m.NotMeasured["plateau"])
	}
	// The slots start at 0, 2.5, 5 and 7.5 ms and end 2 s later.
	want(t, "start", &p.StartS, 0.0075)
	want(t, "length", &p.Seconds, 2-0.0075)
	want(t, "in flight", &p.MeanInFlight, 4)
	// Of 440 tokens the last one of the first slot comes with the end of the
	// plateau, and belongs to it no more; those of the other slots come later.
	want(t, "output tok/s", p.OutputTokensPerS, (440-4)/(2-0.0075))
	want(t, "total tok/s", p.TotalTokensPerS, (440-4+400)/(2-0.0075))
	// 36 requests end before the end and one with it; λW is their 200 ms each.
	want(t, "req/s", &p.RequestsPerS, 37/(2-0.0075))
	want(t, "Little", p.Little, 37*0.2/(4*(2-0.0075)))
	want(t, "edge", p.LittleEdge, 0.2/(2-0.0075))
	if p.Completed != 37 {
		t.Errorf("%d ended in the plateau, want 37", p.Completed)
	}
	if p.Trend != nil {
		t.Errorf("a trend over one bin: %+v", p.Trend)
	}
	if sum := m.PerSecond[0] + m.PerSecond[1] + m.PerSecond[2]; len(m.PerSecond) != 3 || sum != 440 {
		t.Errorf("tokens by the second: %v, want 440 in three", m.PerSecond)
	}
}

func TestPlateauMissing(t *testing.T) {
	idle := closedLoop(2, 10, 11, 100*ms, 10*ms, steady)
	for i, e := range idle { // one slot rests 30 ms after each request
		if i < 10 {
			e.Timeline.Start = e.Timeline.Start.Add(time.Duration(i) * 30 * ms)
		}
	}
	for name, c := range map[string]struct {
		how  How
		in   []*exchange.Exchange
		word string
	}{
		"fewer than the cap":    {How{Concurrency: 8}, closedLoop(4, 2, 3, 10*ms, ms, steady), "at most 4 requests were in flight, 8 are 95 % of the cap of 8"},
		"all at once":           {How{Concurrency: 4}, closedLoop(4, 1, 3, 10*ms, ms, steady), "send at least 8 requests"},
		"a slot rests":          {How{Concurrency: 2}, idle, "fewer than 2 requests were in flight for"},
		"nothing known":         {How{}, closedLoop(4, 10, 3, 10*ms, ms, steady), "not known how the load was made"},
		"open, all at once":     {How{Open: true}, closedLoop(4, 1, 3, 10*ms, ms, steady), "before the ramp was over"},
		"open, longer the ramp": {How{Open: true, Ramp: time.Hour}, closedLoop(4, 10, 3, 10*ms, ms, steady), "before the ramp was over"},
	} {
		m := c.how.Measure(c.in)
		if m.Plateau != nil {
			t.Errorf("%s: a plateau %+v", name, *m.Plateau)
		}
		if !strings.Contains(m.NotMeasured["plateau"], c.word) {
			t.Errorf("%s: %q, want %q", name, m.NotMeasured["plateau"], c.word)
		}
	}
}

// A request each 100 ms, each takes 50 ms: after the first has ended, until the
// last starts.
func TestPlateauOpen(t *testing.T) {
	var in []*exchange.Exchange
	for i := range 11 {
		in = append(in, paced(fmt.Sprint(i), time.Duration(i)*100*ms, 30*ms, 10*ms, 3))
	}
	p := How{Open: true}.Measure(in).Plateau
	want(t, "start", &p.StartS, 0.05)
	want(t, "length", &p.Seconds, 0.95)
	want(t, "output tok/s", p.OutputTokensPerS, (1+9*3)/0.95) // and the token at 50 ms
	p = How{Open: true, Ramp: 500 * ms}.Measure(in).Plateau
	want(t, "start after the ramp", &p.StartS, 0.5)
	want(t, "output tok/s after the ramp", p.OutputTokensPerS, 5*3/0.5)
}

// Chunks of several tokens weigh what they hold: by ids where they are told,
// else by an equal share of the count.
func TestPlateauWeighsChunks(t *testing.T) {
	ids := stream("0001", 0, content(100*ms, "abc", `,"token_ids":[1,2,3]`), content(1100*ms, "d", `,"token_ids":[4]`),
		content(2100*ms, "e", `,"token_ids":[5],"finish_reason":"length"`), usage(2101*ms, 5, 5, ""))
	if got := fmt.Sprint(Measure([]*exchange.Exchange{ids}).PerSecond); got != "[3 1 1]" {
		t.Errorf("by ids: %s, want [3 1 1]", got)
	}
	untold := stream("0001", 0, content(100*ms, "abc", ""), content(1100*ms, "d", ""), content(2100*ms, "e", stop), usage(2101*ms, 5, 7, ""))
	if got := fmt.Sprint(Measure([]*exchange.Exchange{untold}).PerSecond); got != "[2 2 3]" {
		t.Errorf("by shares: %s, want [2 2 3]", got)
	}
	// A reply in one piece: 30 tokens over 3 s.
	if got := fmt.Sprint(Measure([]*exchange.Exchange{whole("0001", 0, 2999*ms, "x", counts(1, 30))}).PerSecond); got != "[10 10 10]" {
		t.Errorf("in one piece: %s, want [10 10 10]", got)
	}
}

// 20 requests a slot, of 1 s each: 20 s. The gaps grow by a percentage from
// the first to the last, so the rate falls.
func TestPlateauTrend(t *testing.T) {
	slower := func(by float64) func(int) float64 { return func(i int) float64 { return 1 + by*float64(i)/19 } }
	d := How{Concurrency: 4}.Measure(closedLoop(4, 20, 100, 10*ms, 10*ms, slower(0.2))).Plateau.Trend
	if d == nil {
		t.Fatal("no trend was looked for")
	}
	// 1/1.2 − 1 = −17 % from the first request to the last.
	if d.Bins < 10 || d.P > 0.01 || d.Change > -0.12 || d.Change < -0.22 {
		t.Errorf("slower by 20 %%: %+v", *d)
	}
	d = How{Concurrency: 4}.Measure(closedLoop(4, 20, 100, 10*ms, 10*ms, steady)).Plateau.Trend
	if d == nil || math.Abs(d.Change) > 0.01 {
		t.Errorf("steady: %+v", d)
	}
	// A bin is as long as a flight, and 1 s at least.
	if d.BinS < 1 || d.BinS > 1.01 {
		t.Errorf("flights of 1 s have bins of %v s", d.BinS)
	}
	d = How{Concurrency: 4}.Measure(closedLoop(4, 30, 50, 10*ms, 10*ms, steady)).Plateau.Trend
	if d == nil || d.BinS != 1 {
		t.Errorf("flights of 0.5 s: %+v, want bins of 1 s", d)
	}
	d = How{Concurrency: 4}.Measure(closedLoop(4, 15, 200, 10*ms, 10*ms, steady)).Plateau.Trend
	if d == nil || d.BinS < 2 || d.BinS > 2.01 {
		t.Errorf("flights of 2 s: %+v, want bins of 2 s", d)
	}
}

func TestGoodput(t *testing.T) {
	in := []*exchange.Exchange{
		paced("0001", 0, 100*ms, 10*ms, 5), // TTFT 100, TPOT 10, E2EL 140
		paced("0002", 0, 300*ms, 10*ms, 5), // TTFT 300
		paced("0003", 0, 100*ms, 50*ms, 5), // TPOT 50
		paced("0004", 0, 100*ms, 10*ms, 1), // no TPOT at all
		failed("0005", 0, 500*ms, exchange.Dropped),
	}
	g := How{SLO: map[string]float64{"ttft_ms": 200, "tpot_ms": 20}}.Measure(in).Goodput
	if g.Good != 1 || g.Share != 0.2 {
		t.Errorf("%d good, share %v, want the first of five alone", g.Good, g.Share)
	}
	want(t, "goodput", g.PerS, 1/0.5)
	if g := (How{SLO: map[string]float64{"normalized_ms": 28}}).Measure(in).Goodput; g.Good != 1 { // 140 ÷ 5
		t.Errorf("%d good by normalized latency, want the first alone", g.Good)
	}
	if m := Measure(in); m.Goodput != nil {
		t.Error("goodput without limits")
	}
}
