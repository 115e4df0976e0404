package load

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/stat"
)

// Metrics is what a load measured. Formulas tells how each number comes about.
// A nil number was not measured, and NotMeasured says why; it is never 0.
type Metrics struct {
	Requests  int                    `json:"requests"` // that were sent, warm-up apart
	Successes int                    `json:"successes"`
	Empty     int                    `json:"empty"` // successes without any content
	Failures  map[exchange.Class]int `json:"failures"`
	// FailedIn counts failures by how far the request had come: connect,
	// header (no status line), prefill (no content), decode (some content).
	FailedIn map[string]int `json:"failed_in"`
	Statuses map[int]int    `json:"statuses"` // failures by HTTP status of 400 and more

	Seconds          *float64 `json:"seconds"`
	RequestsPerS     *float64 `json:"requests_per_s"`
	OutputTokensPerS *float64 `json:"output_tokens_per_s"`
	TotalTokensPerS  *float64 `json:"total_tokens_per_s"`
	PromptTokens     *int     `json:"prompt_tokens"`
	OutputTokens     *int     `json:"output_tokens"`
	CachedShare      *float64 `json:"cached_share"` // 0 to 1

	Plateau   *Plateau `json:"plateau"`
	PerSecond []int    `json:"per_second"` // output tokens by the second after the first start; the last one may be cut short
	Goodput   *Goodput `json:"goodput"`

	TTFT      *Latency `json:"ttft_ms"`
	TPOT      *Latency `json:"tpot_ms"`
	ITL       *Latency `json:"itl_ms"`
	E2EL      *Latency `json:"e2el_ms"`
	Normal    *Latency `json:"normalized_ms"` // a token
	Trailer   *Latency `json:"trailer_ms"`
	ClientLag *Latency `json:"client_lag_ms"`

	Lengths         *Lengths            `json:"lengths"`
	LengthsByFinish map[string]*Lengths `json:"lengths_by_finish"` // "": no finish reason told

	// TokenSource is where the count of output tokens comes from: usage, ids
	// or chunks, mixed where successes differ, empty where none tells.
	TokenSource     string         `json:"token_source"`
	TokenSources    map[string]int `json:"token_sources"` // successes by source; "none" for those without a count
	TokensPerChunk  *float64       `json:"tokens_per_chunk"`
	CoalescedShare  *float64       `json:"coalesced_share"`  // 0 to 1
	ManyEventReads  *float64       `json:"many_event_reads"` // 0 to 1
	CountMismatches int            `json:"count_mismatches"`

	ForeignNonces []Leak `json:"foreign_nonces,omitempty"` // replies that hold what another request was sent

	PeakInFlight int      `json:"peak_in_flight"`
	MeanInFlight *float64 `json:"mean_in_flight"`

	NotMeasured map[string]string `json:"not_measured"` // name in JSON → reason
	Warnings    []string          `json:"warnings"`
	Formulas    map[string]string `json:"formulas"`
}

// PerGPU returns output tokens a second and GPU; nil where the rate is.
func (m Metrics) PerGPU(gpus int) *float64 {
	if m.OutputTokensPerS == nil || gpus <= 0 {
		return nil
	}
	return ptr(*m.OutputTokensPerS / float64(gpus))
}

// Latency describes a sample of times in milliseconds.
type Latency struct {
	stat.Summary
	P99Interval *Interval `json:"p99_interval"` // nil for itl_ms: the gaps of one request depend on each other
}

// Interval is a confidence interval in milliseconds. An end that the sample is
// too small to bound is nil.
type Interval struct {
	Lo         *float64 `json:"lo"`
	Hi         *float64 `json:"hi"`
	Confidence float64  `json:"confidence"`
	Needs      int      `json:"needs"` // values that it takes to bound both ends
}

// Confidence is that of the intervals around percentiles.
const Confidence = 0.95

// Lengths describes numbers of output tokens.
type Lengths struct {
	N    int     `json:"n"`
	Min  int     `json:"min"`
	Mean float64 `json:"mean"`
	Max  int     `json:"max"`
}

// Goodput is how much of a load met its limits.
type Goodput struct {
	SLO   map[string]float64 `json:"slo"` // milliseconds, by the name of the latency in JSON
	Good  int                `json:"good"`
	Share float64            `json:"share"`          // of the requests that were sent
	PerS  *float64           `json:"requests_per_s"` // good ÷ seconds
}

// Measure computes the metrics of a load of which nothing is known but its
// exchanges. See How.Measure.
func Measure(exchanges []*exchange.Exchange) Metrics { return How{}.Measure(exchanges) }

// Measure computes the metrics of a load from its exchanges, in any order.
// Warm-up requests (see IsWarmup) are left out. What failed is counted by
// class and adds nothing to throughput, but the time that it took counts.
func (h How) Measure(exchanges []*exchange.Exchange) Metrics {
	return h.MeasureEach(slices.Values(exchanges))
}

// MeasureEach is Measure for a load that is larger than the memory. It goes
// through the exchanges twice and keeps none: of 100,000 with 128 chunks each
// it holds the gaps and not the 3 GB that they came from.
func (h How) MeasureEach(exchanges iter.Seq[*exchange.Exchange]) Metrics {
	t := newTally(h)
	var sent []*exchange.Exchange
	for e := range exchanges {
		if IsWarmup(e.Request) {
			continue
		}
		sent = append(sent, &exchange.Exchange{Request: e.Request})
		if x := e.Timeline; !x.Start.IsZero() {
			t.flights = append(t.flights, flight{x.Start, x.Start.Add(x.End)})
		}
	}
	// When the server was fully loaded shows without decoding anything, and
	// then each reply is decoded once and dropped.
	t.flow, t.noPlateau = newFlow(t.flights, h)
	t.canaries = newCanaries(sent)
	for e := range exchanges {
		if !IsWarmup(e.Request) {
			t.add(e)
		}
	}
	return t.metrics()
}

func ptr[T any](v T) *T { return &v }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// latency summarizes times in milliseconds; nil for none.
func latency(values []float64, independent bool) *Latency {
	s := stat.Summarize(values)
	if s == nil {
		return nil
	}
	l := &Latency{Summary: *s}
	if independent {
		l.P99Interval = p99(values)
	}
	return l
}

func lengthsOf(tokens []int) *Lengths {
	if len(tokens) == 0 {
		return nil
	}
	l := &Lengths{N: len(tokens), Min: tokens[0], Max: tokens[0]}
	sum := 0
	for _, n := range tokens {
		sum += n
		l.Min, l.Max = min(l.Min, n), max(l.Max, n)
	}
	l.Mean = float64(sum) / float64(len(tokens))
	return l
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
