package load

import (
	"math"
	"slices"

	"touchstone/harness/exchange"
	"touchstone/harness/stat"
)

// tally gathers the raw values of a load, exchange by exchange.
type tally struct {
	m         Metrics
	how       How
	flights   []flight
	flow      *flow
	noPlateau string
	canaries  *canaries
	streamed  int // successes that were asked to stream

	ttft, tpot, itl, e2el, normal, trailer, lag []float64 // milliseconds

	tokens   []int // of each success that tells
	byFinish map[string][]int
	untold   int // successes without a token count
	chunked  struct{ tokens, chunks int }
	still    int // gaps of 0
	reads    struct{ content, many int }
	good     int
	prompt   struct{ tokens, untold int }
	cached   struct{ tokens, of int }
	told     bool // some success tells its cached tokens
}

func newTally(h How) *tally {
	return &tally{
		how: h,
		m: Metrics{
			Failures: map[exchange.Class]int{}, FailedIn: map[string]int{}, Statuses: map[int]int{}, TokenSources: map[string]int{},
			LengthsByFinish: map[string]*Lengths{}, NotMeasured: map[string]string{},
			Warnings: []string{}, Formulas: Formulas(),
		},
		byFinish: map[string][]int{},
	}
}

func (t *tally) add(e *exchange.Exchange) {
	t.m.Requests++
	if !e.Timeline.Start.IsZero() {
		t.lag = append(t.lag, milliseconds(e.Timeline.Sent))
	}
	r, f := exchange.Decode(e)
	if f != nil {
		t.fail(e, r, f)
		return
	}
	t.m.Successes++
	answer := r.Answer()
	if answer == "" {
		t.m.Empty++
	}
	t.canaries.read(e.Request.ID, answer)
	v := latencies{"e2el_ms": milliseconds(e.Timeline.End)}
	if e.Request.Stream {
		t.streamed++
		v = t.addStream(e, r)
	}
	t.addTokens(e, r)
	t.addPrompt(e, r)
	if n, source := outputTokens(e.Request.Stream, r); source != "" && n > 0 && v.has("e2el_ms") {
		v["normalized_ms"] = v["e2el_ms"] / float64(n)
	}
	t.book(v)
	if !e.Timeline.Start.IsZero() {
		t.flow.success(e, v)
	}
}

// fail counts a failure, by its class and by how far the request had come.
func (t *tally) fail(e *exchange.Exchange, r *exchange.Reply, f *exchange.Failure) {
	t.m.Failures[f.Class]++
	if e.Status >= 400 {
		t.m.Statuses[e.Status]++
	}
	switch {
	case f.Class == exchange.Refused:
		t.m.FailedIn["connect"]++
	case e.Status == 0:
		t.m.FailedIn["header"]++
	case r == nil || len(contentChunks(r)) == 0:
		t.m.FailedIn["prefill"]++
	default:
		t.m.FailedIn["decode"]++
	}
}

// latencies are those of one request in milliseconds, by their name in JSON;
// what it has not is absent.
type latencies map[string]float64

func (v latencies) has(name string) bool { _, has := v[name]; return has }

// meets says whether all limits hold. What was not measured meets none: a
// reply of one token has no time per token, and so no good one.
func (v latencies) meets(slo map[string]float64) bool {
	for name, limit := range slo {
		if x, has := v[name]; !has || x > limit {
			return false
		}
	}
	return true
}

func (t *tally) book(v latencies) {
	for name, to := range map[string]*[]float64{
		"ttft_ms": &t.ttft, "tpot_ms": &t.tpot, "e2el_ms": &t.e2el, "normalized_ms": &t.normal, "trailer_ms": &t.trailer,
	} {
		if x, has := v[name]; has {
			*to = append(*to, x)
		}
	}
	if v.meets(t.how.SLO) {
		t.good++
	}
}

// addStream takes in the gaps of a streamed success, and returns its latencies.
func (t *tally) addStream(e *exchange.Exchange, r *exchange.Reply) latencies {
	v := latencies{}
	at := contentChunks(r)
	if len(at) == 0 {
		return v
	}
	first, last := r.Chunks[at[0]].At, r.Chunks[at[len(at)-1]].At
	v["ttft_ms"], v["e2el_ms"], v["trailer_ms"] = milliseconds(first), milliseconds(last), milliseconds(e.Timeline.End-last)
	t.addGaps(r, at)
	// Tokens that all came in one chunk took no time that could be seen.
	if n, source := outputTokens(true, r); source != "" && len(at) > 1 {
		if later := n - firstTokens(r, at[0]); later > 0 {
			v["tpot_ms"] = milliseconds(last-first) / float64(later)
		}
	}
	return v
}

// addGaps takes in the gaps between chunks, and counts the reads that brought
// several: chunks of one read have one time.
func (t *tally) addGaps(r *exchange.Reply, at []int) {
	t.reads.content++
	many := false
	for i := 1; i < len(at); i++ {
		gap := r.Chunks[at[i]].At - r.Chunks[at[i-1]].At
		t.itl = append(t.itl, milliseconds(gap))
		if gap > 0 {
			t.reads.content++
			many = false
			continue
		}
		t.still++
		if !many {
			t.reads.many++
			many = true
		}
	}
}

// addTokens counts a success's output tokens.
func (t *tally) addTokens(e *exchange.Exchange, r *exchange.Reply) {
	streamed := e.Request.Stream
	n, source := outputTokens(streamed, r)
	if source == "" {
		t.untold++
		t.m.TokenSources["none"]++
		return
	}
	t.m.TokenSources[source]++
	t.tokens = append(t.tokens, n)
	t.byFinish[r.FinishReason] = append(t.byFinish[r.FinishReason], n)
	if !e.Timeline.Start.IsZero() {
		t.flow.addOutput(e, r, n)
	}
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

func (t *tally) addPrompt(e *exchange.Exchange, r *exchange.Reply) {
	n := len(r.PromptTokenIDs)
	switch {
	case r.Usage != nil:
		n = r.Usage.Prompt
		if r.Usage.Cached != nil {
			t.told = true
			t.cached.tokens += *r.Usage.Cached
			t.cached.of += r.Usage.Prompt
		}
	case n == 0:
		t.prompt.untold++
		return
	}
	t.prompt.tokens += n
	if !e.Timeline.Start.IsZero() {
		t.flow.addPrompt(e, r, n)
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
	m.Normal, m.ClientLag = latency(t.normal, true), latency(t.lag, true)
	m.ForeignNonces = t.canaries.leaks()
	m.Lengths = lengthsOf(t.tokens)
	for reason, tokens := range t.byFinish {
		m.LengthsByFinish[reason] = lengthsOf(tokens)
	}
	if len(t.itl) > 0 {
		m.CoalescedShare = ptr(float64(t.still) / float64(len(t.itl)))
		m.ManyEventReads = ptr(float64(t.reads.many) / float64(t.reads.content))
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
	if len(t.how.SLO) > 0 && m.Requests > 0 {
		m.Goodput = &Goodput{SLO: t.how.SLO, Good: t.good, Share: float64(t.good) / float64(m.Requests)}
		if m.Seconds != nil {
			m.Goodput.PerS = ptr(float64(t.good) / *m.Seconds)
		}
	}
	if m.Successes == 0 {
		return
	}
	if t.untold == 0 {
		m.PerSecond = t.flow.perSecond
	}
	m.Plateau = t.flow.result(t.flights, t.untold == 0, t.prompt.untold == 0)
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
