package load

import (
	"fmt"
	"math"
	"slices"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/stat"
)

// How says how a load was made, as far as its numbers depend on it. The zero
// value says nothing: then there is no plateau, and no goodput.
type How struct {
	Concurrency int           // closed loop: requests in flight at most
	Open        bool          // open loop: requests leave by a schedule
	Ramp        time.Duration // during which the load grew
	// SLO are limits in milliseconds by the name of a latency in JSON: ttft_ms,
	// tpot_ms, e2el_ms, normalized_ms. None: no goodput.
	SLO map[string]float64
}

// Plateau is the part of a load in which the server had its full load, without
// ramp and drain. Its numbers are those that builds are compared by.
type Plateau struct {
	StartS           float64  `json:"start_s"` // after the first start
	Seconds          float64  `json:"seconds"`
	Completed        int      `json:"completed"` // requests that ended in it
	RequestsPerS     float64  `json:"requests_per_s"`
	OutputTokensPerS *float64 `json:"output_tokens_per_s"`
	TotalTokensPerS  *float64 `json:"total_tokens_per_s"`
	MeanInFlight     float64  `json:"mean_in_flight"`
	// Little is arrivals a second × mean latency ÷ mean in flight. It is 1
	// where the latencies account for the time in flight, up to LittleEdge,
	// which is what the requests that overlap an end of the plateau can do.
	Little     *float64 `json:"little"`
	LittleEdge *float64 `json:"little_edge"`
	Trend      *Drift   `json:"trend"` // nil: too short to tell
}

// Drift is how the output of a plateau changes over its length.
type Drift struct {
	Bins   int     `json:"bins"`
	BinS   float64 `json:"bin_s"`
	Change float64 `json:"change"` // over the whole plateau, as a share of the median bin
	P      float64 `json:"p"`      // Mann–Kendall, two-sided
}

// full is the share of the cap from which on a server counts as fully loaded,
// as in vLLM's steady_state.rs; and what the plateau may fall below it.
const full = 0.95

// window is the time of a plateau.
type window struct{ from, to time.Time }

func (w window) holds(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

func (w window) seconds() float64 { return w.to.Sub(w.from).Seconds() }

// overlap returns how much of a flight lies in the window.
func (w window) overlap(f flight) time.Duration {
	from, to := f.start, f.end
	if from.Before(w.from) {
		from = w.from
	}
	if to.After(w.to) {
		to = w.to
	}
	return max(0, to.Sub(from))
}

// plateau finds the window, or says why there is none.
func (h How) plateau(fs []flight) (w window, why string) {
	switch {
	case len(fs) == 0:
		return w, "no exchange has a start time"
	case h.Open:
		return h.openPlateau(fs)
	case h.Concurrency > 0:
		return h.closedPlateau(fs)
	}
	return w, "it is not known how the load was made"
}

// closedPlateau goes from the first moment in which 95 % of the cap are in
// flight to the last one. Requests that end make room for the next a little
// later, so it may be interrupted, but by no more than 5 % of its time. And
// each slot must have been used anew, on average: with 200 requests at a cap
// of 200 nothing is steady, however long they take.
func (h How) closedPlateau(fs []flight) (w window, why string) {
	need := int(math.Ceil(full * float64(h.Concurrency)))
	steps, under := steps(fs), time.Duration(0)
	most, begun, left := 0, false, time.Time{}
	for i, s := range steps {
		most = max(most, s.n)
		was := i > 0 && steps[i-1].n >= need
		switch is := s.n >= need; {
		case is && !begun:
			begun, w.from = true, s.at
		case is && !was:
			under += s.at.Sub(left)
		case !is && was:
			left = s.at
		}
	}
	w.to = left
	if !begun {
		return window{}, fmt.Sprintf("at most %d requests were in flight, %d are %.0f %% of the cap of %d", most, need, 100*full, h.Concurrency)
	}
	if n := ended(fs, w); n < h.Concurrency {
		return window{}, fmt.Sprintf("%s while %d or more were in flight, too few to use each of %d slots twice: send at least %d requests",
			count(n, "request ended", "requests ended"), need, h.Concurrency, 2*h.Concurrency)
	}
	if share := under.Seconds() / w.seconds(); share > 1-full {
		return window{}, fmt.Sprintf("fewer than %d requests were in flight for %.0f %% of the time between the first and the last moment of full load", need, 100*share)
	}
	return w, ""
}

// openPlateau goes from the end of the ramp, and not before the first request
// has ended (until then the pipeline fills: guidellm#93), to the last start.
func (h How) openPlateau(fs []flight) (w window, why string) {
	w = window{from: fs[0].end, to: fs[0].start}
	first := fs[0].start
	for _, f := range fs {
		if f.start.Before(first) {
			first = f.start
		}
		if f.end.Before(w.from) {
			w.from = f.end
		}
		if f.start.After(w.to) {
			w.to = f.start
		}
	}
	if ramp := first.Add(h.Ramp); ramp.After(w.from) {
		w.from = ramp
	}
	if !w.to.After(w.from) {
		return window{}, "the last request was sent before the ramp was over and the first one had ended"
	}
	return w, ""
}

// step is how many requests are in flight from a moment on.
type step struct {
	at time.Time
	n  int
}

// steps counts the requests in flight, one step a moment in which they change.
func steps(fs []flight) []step {
	type event struct {
		at time.Time
		by int
	}
	events := make([]event, 0, 2*len(fs))
	for _, f := range fs {
		events = append(events, event{f.start, 1}, event{f.end, -1})
	}
	slices.SortFunc(events, func(a, b event) int { return a.at.Compare(b.at) })
	var out []step
	now := 0
	for i, e := range events {
		now += e.by
		if i+1 == len(events) || !events[i+1].at.Equal(e.at) {
			out = append(out, step{e.at, now})
		}
	}
	return out
}

func ended(fs []flight, w window) int {
	n := 0
	for _, f := range fs {
		if w.holds(f.end) || f.end.Equal(w.to) {
			n++
		}
	}
	return n
}

// flow counts tokens by the second and within the plateau.
type flow struct {
	first   time.Time // of all starts
	window  window
	plateau bool
	bin     time.Duration // of bins
	bins    []int         // output tokens in each, from the window's start on

	perSecond      []int // output tokens by the second after first
	output, prompt int   // within the window

	latency time.Duration // of the successes that ended in the window, together
	ended   int
	longest time.Duration // of all flights
}

// newFlow lays out the bins. A bin is as long as the median flight, and 1 s at
// least: requests that run in step make the output rise and fall once a
// flight, and bins that share a request are not independent.
func newFlow(fs []flight, h How) (f *flow, why string) {
	f = &flow{}
	if f.window, why = h.plateau(fs); why == "" {
		f.plateau = true
	}
	durations := make([]float64, 0, len(fs))
	for i, x := range fs {
		if i == 0 || x.start.Before(f.first) {
			f.first = x.start
		}
		f.longest = max(f.longest, x.end.Sub(x.start))
		durations = append(durations, x.end.Sub(x.start).Seconds())
	}
	if !f.plateau {
		return f, why
	}
	slices.Sort(durations)
	f.bin = time.Duration(max(1, stat.Quantile(durations, 0.5)) * float64(time.Second))
	f.bins = make([]int, int(f.window.to.Sub(f.window.from)/f.bin))
	return f, ""
}

// add books output tokens at the moment when they were read.
func (f *flow) add(at time.Time, tokens int) {
	if s := int(at.Sub(f.first) / time.Second); s >= 0 {
		for len(f.perSecond) <= s {
			f.perSecond = append(f.perSecond, 0)
		}
		f.perSecond[s] += tokens
	}
	if f.plateau && f.window.holds(at) {
		f.output += tokens
		if b := int(at.Sub(f.window.from) / f.bin); b < len(f.bins) {
			f.bins[b] += tokens
		}
	}
}

// spread books tokens evenly over the time from one moment to another: that is
// all that is known of a reply in one piece. Each millisecond gets whole
// tokens, so that the order of the exchanges changes no digit.
func (f *flow) spread(from time.Time, over time.Duration, tokens int, book func(time.Time, int)) {
	const slice = time.Millisecond
	n := int(over/slice) + 1
	if n > tokens {
		n = max(1, tokens)
	}
	for i := range n {
		if k := share(tokens, i, n); k > 0 {
			book(from.Add(time.Duration(float64(over)*float64(i+1)/float64(n))), k)
		}
	}
}

// addOutput books a success's output tokens. Each content chunk has as many as
// it tells, by ids or by the server's running count; else all have their share
// of the total, as SGLang's steady_state.py has it. Counting a chunk as one
// token, as vLLM's steady_state.rs does, is wrong where it holds several.
func (f *flow) addOutput(e *exchange.Exchange, r *exchange.Reply, tokens int) {
	at := contentChunks(r)
	if !e.Request.Stream || len(at) == 0 {
		f.spread(e.Timeline.Start, e.Timeline.End, tokens, f.add)
		return
	}
	told := chunkTokens(r, at, tokens)
	for i, c := range at {
		n := share(tokens, i, len(at))
		if told != nil {
			n = told[i]
		}
		f.add(e.Timeline.Start.Add(r.Chunks[c].At), n)
	}
}

// chunkTokens returns how many tokens came with each content chunk, or nil
// where the server doesn't tell, or tells something else than the total.
func chunkTokens(r *exchange.Reply, at []int, tokens int) []int {
	out, ids, before := make([]int, len(at)), 0, 0
	next := 0
	for i, c := range r.Chunks {
		ids += len(c.TokenIDs)
		if c.Usage != nil && c.Usage.Completion > 0 {
			ids = c.Usage.Completion
		}
		if next < len(at) && i == at[next] {
			out[next] = ids - before
			before = ids
			next++
		}
	}
	// The last tokens may have no text; they belong to the last chunk.
	if ids == 0 || ids != tokens || slices.Min(out) < 0 || before == 0 {
		return nil
	}
	out[len(out)-1] += ids - before
	return out
}

// addPrompt books a success's prompt tokens: all at the first content chunk,
// when the prefill is over.
func (f *flow) addPrompt(e *exchange.Exchange, r *exchange.Reply, tokens int) {
	book := func(at time.Time, n int) {
		if f.plateau && f.window.holds(at) {
			f.prompt += n
		}
	}
	at := contentChunks(r)
	if !e.Request.Stream || len(at) == 0 {
		f.spread(e.Timeline.Start, e.Timeline.End, tokens, book)
		return
	}
	book(e.Timeline.Start.Add(r.Chunks[at[0]].At), tokens)
}

// success books a success's latency where it ended within the plateau.
func (f *flow) success(e *exchange.Exchange, v latencies) {
	end := e.Timeline.Start.Add(e.Timeline.End)
	if !f.plateau || !f.window.holds(end) && !end.Equal(f.window.to) {
		return
	}
	f.ended++
	f.latency += time.Duration(v["e2el_ms"] * float64(time.Millisecond))
}

// share is the part that item i of n gets of a number of tokens: they differ
// by 1 at most, and add up.
func share(tokens, i, n int) int { return (i+1)*tokens/n - i*tokens/n }

// result closes the plateau.
func (f *flow) result(fs []flight, told, promptTold bool) *Plateau {
	if !f.plateau {
		return nil
	}
	seconds := f.window.seconds()
	p := &Plateau{StartS: f.window.from.Sub(f.first).Seconds(), Seconds: seconds, Completed: ended(fs, f.window)}
	p.RequestsPerS = float64(f.ended) / seconds
	if told {
		p.OutputTokensPerS = ptr(float64(f.output) / seconds)
		if promptTold {
			p.TotalTokensPerS = ptr(float64(f.output+f.prompt) / seconds)
		}
		p.Trend = f.drift()
	}
	var inside time.Duration
	for _, x := range fs {
		inside += f.window.overlap(x)
	}
	p.MeanInFlight = inside.Seconds() / seconds
	// Requests that began before the window or end after it: at each end no
	// more than are in flight, each by its own length at most. The two ends
	// work against each other, so the larger counts.
	if inside > 0 {
		p.Little = ptr(f.latency.Seconds() / inside.Seconds())
		p.LittleEdge = ptr(f.longest.Seconds() / seconds)
	}
	return p
}

func (f *flow) drift() *Drift {
	values := make([]float64, len(f.bins))
	for i, n := range f.bins {
		values[i] = float64(n)
	}
	t := stat.FindTrend(values)
	if t == nil {
		return nil
	}
	slices.Sort(values)
	middle := stat.Quantile(values, 0.5)
	if middle == 0 {
		return nil
	}
	return &Drift{Bins: len(f.bins), BinS: f.bin.Seconds(), Change: t.Slope * float64(len(values)-1) / middle, P: t.P}
}
