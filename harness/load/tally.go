package load

import (
	"fmt"
	"math"
	"slices"

	"touchstone/harness/exchange"
	"touchstone/harness/stat"
)

// tally gathers the raw values of a load, exchange by exchange.
type tally struct {
	m        Metrics
	flights  []flight
	streamed int // successes that were asked to stream

	ttft, tpot, itl, e2el, trailer, lag []float64 // milliseconds

	tokens   []int // of each success that tells
	byFinish map[string][]int
	untold   int // successes without a token count
	chunked  struct{ tokens, chunks int }
	still    int // gaps of 0
	prompt   struct{ tokens, untold int }
	cached   struct{ tokens, of int }
	told     bool // some success tells its cached tokens
}

func newTally() *tally {
	return &tally{
		m: Metrics{
			Failures: map[exchange.Class]int{}, TokenSources: map[string]int{},
			LengthsByFinish: map[string]*Lengths{}, NotMeasured: map[string]string{},
			Warnings: []string{}, Formulas: Formulas(),
		},
		byFinish: map[string][]int{},
	}
}

func (t *tally) add(e *exchange.Exchange) {
	t.m.Requests++
	if !e.Timeline.Start.IsZero() {
		t.flights = append(t.flights, flight{e.Timeline.Start, e.Timeline.Start.Add(e.Timeline.End)})
		t.lag = append(t.lag, milliseconds(e.Timeline.Sent))
	}
	r, f := exchange.Decode(e)
	if f != nil {
		t.m.Failures[f.Class]++
		return
	}
	t.m.Successes++
	if r.Answer() == "" {
		t.m.Empty++
	}
	t.addTokens(e.Request.Stream, r)
	t.addPrompt(r)
	if e.Request.Stream {
		t.streamed++
		t.addStream(e, r)
	} else {
		t.e2el = append(t.e2el, milliseconds(e.Timeline.End))
	}
}

// addStream adds the times of a streamed success.
func (t *tally) addStream(e *exchange.Exchange, r *exchange.Reply) {
	at := contentChunks(r)
	if len(at) == 0 {
		return
	}
	first, last := r.Chunks[at[0]].At, r.Chunks[at[len(at)-1]].At
	t.ttft = append(t.ttft, milliseconds(first))
	t.e2el = append(t.e2el, milliseconds(last))
	t.trailer = append(t.trailer, milliseconds(e.Timeline.End-last))
	for i := 1; i < len(at); i++ {
		gap := r.Chunks[at[i]].At - r.Chunks[at[i-1]].At
		if gap == 0 {
			t.still++
		}
		t.itl = append(t.itl, milliseconds(gap))
	}
	// Tokens that all came in one chunk took no time that could be seen.
	if n, source := outputTokens(true, r); source != "" && len(at) > 1 {
		if later := n - firstTokens(r, at[0]); later > 0 {
			t.tpot = append(t.tpot, milliseconds(last-first)/float64(later))
		}
	}
}

// addTokens counts a success's output tokens.
func (t *tally) addTokens(streamed bool, r *exchange.Reply) {
	n, source := outputTokens(streamed, r)
	if source == "" {
		t.untold++
		t.m.TokenSources["none"]++
		return
	}
	t.m.TokenSources[source]++
	t.tokens = append(t.tokens, n)
	t.byFinish[r.FinishReason] = append(t.byFinish[r.FinishReason], n)
	if u := r.Usage; u != nil {
		ids := len(r.TokenIDs)
		if ids > 0 && ids != u.Completion || u.Completion == 0 && r.Answer() != "" {
			t.m.CountMismatches++
		}
	}
	if chunks := len(contentChunks(r)); streamed && source != "chunks" && chunks > 0 {
		t.chunked.tokens += n
		t.chunked.chunks += chunks
	}
}

func (t *tally) addPrompt(r *exchange.Reply) {
	switch {
	case r.Usage != nil:
		t.prompt.tokens += r.Usage.Prompt
		if r.Usage.Cached != nil {
			t.told = true
			t.cached.tokens += *r.Usage.Cached
			t.cached.of += r.Usage.Prompt
		}
	case len(r.PromptTokenIDs) > 0:
		t.prompt.tokens += len(r.PromptTokenIDs)
	default:
		t.prompt.untold++
	}
}

// outputTokens counts a reply's output tokens by the best source that it has;
// the source is empty where nothing tells. The text is not tokenized again:
// that is not invertible, and would compare two tokenizers.
func outputTokens(streamed bool, r *exchange.Reply) (int, string) {
	if r.Usage != nil {
		return r.Usage.Completion, "usage"
	}
	if n := len(r.TokenIDs); n > 0 {
		return n, "ids"
	}
	if n := len(contentChunks(r)); streamed && n > 0 {
		return n, "chunks"
	}
	return 0, ""
}

// contentChunks returns the indices of the chunks that hold content. A first
// chunk with a role only is none: it may leave before the prefill ends.
func contentChunks(r *exchange.Reply) []int {
	var at []int
	for i, c := range r.Chunks {
		if c.Text != "" || c.Reasoning != "" {
			at = append(at, i)
		}
	}
	return at
}

// firstTokens returns how many tokens had come with the first content chunk,
// at index i: by the server's running count, else by ids, else 1.
func firstTokens(r *exchange.Reply, i int) int {
	if u := r.Chunks[i].Usage; u != nil && u.Completion > 0 {
		return u.Completion
	}
	n := 0
	for _, c := range r.Chunks[:i+1] {
		n += len(c.TokenIDs)
	}
	return max(n, 1)
}

// metrics closes the tally.
func (t *tally) metrics() Metrics {
	m := &t.m
	m.TTFT, m.TPOT = latency(t.ttft, true), latency(t.tpot, true)
	m.ITL = latency(t.itl, false)
	m.E2EL, m.Trailer = latency(t.e2el, true), latency(t.trailer, true)
	m.ClientLag = latency(t.lag, true)
	m.Lengths = lengthsOf(t.tokens)
	for reason, tokens := range t.byFinish {
		m.LengthsByFinish[reason] = lengthsOf(tokens)
	}
	if len(t.itl) > 0 {
		m.CoalescedShare = ptr(float64(t.still) / float64(len(t.itl)))
	}
	if t.chunked.chunks > 0 {
		m.TokensPerChunk = ptr(float64(t.chunked.tokens) / float64(t.chunked.chunks))
	}
	if t.told && t.cached.of > 0 {
		m.CachedShare = ptr(float64(t.cached.tokens) / float64(t.cached.of))
	}
	m.TokenSource = theSource(m.TokenSources)
	t.rates()
	t.explain()
	t.warn()
	return *m
}

// rates fills in what is a sum or a sum divided by time. A sum with unknown
// parts is unknown: it would be too small, and look like a measurement.
func (t *tally) rates() {
	m := &t.m
	wall := span(t.flights)
	m.PeakInFlight = peak(t.flights)
	if wall > 0 {
		m.Seconds = ptr(wall.Seconds())
		m.MeanInFlight = ptr(busy(t.flights).Seconds() / wall.Seconds())
	}
	if m.Successes == 0 {
		return
	}
	if t.untold == 0 {
		sum := 0
		for _, n := range t.tokens {
			sum += n
		}
		m.OutputTokens = &sum
	}
	if t.prompt.untold == 0 {
		m.PromptTokens = ptr(t.prompt.tokens)
	}
	if m.Seconds == nil {
		return
	}
	m.RequestsPerS = ptr(float64(m.Successes) / *m.Seconds)
	if m.OutputTokens != nil {
		m.OutputTokensPerS = ptr(float64(*m.OutputTokens) / *m.Seconds)
		if m.PromptTokens != nil {
			m.TotalTokensPerS = ptr(float64(*m.PromptTokens+*m.OutputTokens) / *m.Seconds)
		}
	}
}

func theSource(sources map[string]int) string {
	one := ""
	for s := range sources {
		switch {
		case s == "none":
		case one == "":
			one = s
		default:
			return "mixed"
		}
	}
	return one
}

// explain says why a number is missing.
func (t *tally) explain() {
	const nothing = "no request was sent"
	m := &t.m
	why := func(missing bool, name, reason string) {
		if !missing {
			return
		}
		if m.Successes == 0 {
			reason = "no request succeeded"
		}
		if m.Requests == 0 {
			reason = nothing
		}
		m.NotMeasured[name] = reason
	}
	noTimes := "no time passed between the first start and the last end"
	output := fmt.Sprintf("%s no count of output tokens", tells(t.untold))
	prompt := fmt.Sprintf("%s no count of prompt tokens", tells(t.prompt.untold))
	rate := noTimes
	if t.untold > 0 {
		rate = output
	}
	total := rate
	if t.untold == 0 && t.prompt.untold > 0 {
		total = prompt
	}
	stream, pace, gaps := "no streamed success had content", "no streamed success tells of several tokens in several chunks", "no streamed success had two chunks with content"
	if t.streamed == 0 {
		stream, pace, gaps = "not streamed", "not streamed", "not streamed"
	}
	if m.Seconds == nil {
		reason := noTimes
		if m.Requests == 0 {
			reason = nothing
		}
		m.NotMeasured["seconds"], m.NotMeasured["mean_in_flight"] = reason, reason
	}
	why(m.RequestsPerS == nil, "requests_per_s", noTimes)
	why(m.OutputTokens == nil, "output_tokens", output)
	why(m.PromptTokens == nil, "prompt_tokens", prompt)
	why(m.OutputTokensPerS == nil, "output_tokens_per_s", rate)
	why(m.TotalTokensPerS == nil, "total_tokens_per_s", total)
	why(m.CachedShare == nil, "cached_share", "the server tells no cached tokens")
	why(m.TTFT == nil, "ttft_ms", stream)
	why(m.TPOT == nil, "tpot_ms", pace)
	why(m.ITL == nil, "itl_ms", gaps)
	why(m.CoalescedShare == nil, "coalesced_share", gaps)
	why(m.E2EL == nil, "e2el_ms", stream)
	why(m.Trailer == nil, "trailer_ms", stream)
	why(m.ClientLag == nil, "client_lag_ms", "no exchange has a start time")
	why(m.Lengths == nil, "lengths", output)
	why(m.TokensPerChunk == nil, "tokens_per_chunk", pace)
}

func tells(n int) string { return count(n, "success tells", "successes tell") }

// severalTokens is the mean of tokens a chunk from which on a gap between
// chunks is no longer said to be one between tokens. Tokens that end within a
// character carry no text of their own and lift the mean a little in scripts
// other than Latin, so it is not 1.
const severalTokens = 1.05

// warn says what has to be known with the numbers.
func (t *tally) warn() {
	m := &t.m
	say := func(format string, args ...any) { m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...)) }
	if m.Empty > 0 {
		say("%s had no text: their speed says nothing", count(m.Empty, "successful reply", "successful replies"))
	}
	if t.untold > 0 {
		say("%s no count of output tokens, so there is no token rate", tells(t.untold))
	}
	switch m.TokenSource {
	case "chunks":
		say("the server tells no usage: output tokens are chunks, and there may be more")
	case "mixed":
		say("output tokens are counted in different ways: see token_sources")
	}
	if m.CountMismatches > 0 {
		say("usage and token ids differ in %s", count(m.CountMismatches, "reply", "replies"))
	}
	if m.TokensPerChunk != nil && *m.TokensPerChunk > severalTokens {
		say("a chunk holds %.2f tokens on average: itl_ms is the time between chunks, not tokens", *m.TokensPerChunk)
	}
	if l := m.E2EL; l != nil && l.P99Interval != nil && l.P99Interval.Hi == nil {
		say("%s can't bound p99 from above: that takes %d", count(l.N, "value", "values"), l.P99Interval.Needs)
	}
}

// p99 returns the interval around the 99th percentile.
func p99(values []float64) *Interval {
	lo, hi, _ := stat.QuantileInterval(slices.Sorted(slices.Values(values)), 0.99, Confidence)
	i := &Interval{Confidence: Confidence, Needs: stat.MinSamples(0.99, Confidence)}
	if !math.IsInf(lo, 0) {
		i.Lo = &lo
	}
	if !math.IsInf(hi, 0) {
		i.Hi = &hi
	}
	return i
}
