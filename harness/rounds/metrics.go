package rounds

import (
	"fmt"

	"touchstone/harness/load"
)

// MinTail is how many samples a 99th percentile takes at least. It rests on
// one in a hundred of them: with fewer than 1,000 that is under ten, and it
// moves by half from run to run.
const MinTail = 1000

// metrics are what builds are compared by, in the order of reports.
var metrics = []Metric{
	{"output_tokens_per_s", "Output throughput", "tok/s", true},
	{"total_tokens_per_s", "Total throughput", "tok/s", true},
	{"requests_per_s", "Request throughput", "req/s", true},
	{"ttft_p50_ms", "TTFT p50", "ms", false},
	{"ttft_p90_ms", "TTFT p90", "ms", false},
	{"ttft_p99_ms", "TTFT p99", "ms", false},
	{"tpot_p50_ms", "TPOT p50", "ms", false},
	{"tpot_p90_ms", "TPOT p90", "ms", false},
	{"tpot_p99_ms", "TPOT p99", "ms", false},
	{"itl_p50_ms", "ITL p50", "ms", false},
	{"e2el_p50_ms", "E2EL p50", "ms", false},
	{"e2el_p90_ms", "E2EL p90", "ms", false},
}

// Metrics returns the metrics that builds can be compared by, in the order of
// reports. What is true of some requests only, like the TTFT of long prompts,
// is a workload of its own, so that its rounds are replicated like any other.
func Metrics() []Metric { return append([]Metric{}, metrics...) }

// Primary returns the names of the metrics that decide unless a user names
// others: few, since each one takes its share of the error rate.
func Primary() []string { return []string{"output_tokens_per_s", "ttft_p50_ms", "tpot_p50_ms"} }

// Find returns the metric of that name.
func Find(name string) (Metric, bool) {
	for _, m := range metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

func names() []string {
	out := make([]string, len(metrics))
	for i, m := range metrics {
		out[i] = m.Name
	}
	return out
}

// Of fills in what a load measured: rates over the plateau where there is one,
// else over the whole load. Side, Build, Workload, Index, Pair, Launch, Start,
// Digest, Void, Incorrect and Facts are the caller's.
func Of(m load.Metrics) Round {
	r := Round{
		Requests: m.Requests, Successes: m.Successes, CachedShare: m.CachedShare,
		Values: map[string]float64{}, Samples: map[string]int{},
	}
	if m.Seconds != nil {
		r.Seconds = *m.Seconds
	}
	if m.Successes > 0 {
		r.PromptMean, r.OutputMean = mean(m.PromptTokens, m.Successes), mean(m.OutputTokens, m.Successes)
	}
	if m.Lengths != nil {
		r.OutputMean = &m.Lengths.Mean
	}
	output, total, requests := m.OutputTokensPerS, m.TotalTokensPerS, m.RequestsPerS
	if p := m.Plateau; p != nil {
		output, total, requests = p.OutputTokensPerS, p.TotalTokensPerS, &p.RequestsPerS
	}
	r.set("output_tokens_per_s", output)
	r.set("total_tokens_per_s", total)
	r.set("requests_per_s", requests)
	r.latency("ttft", m.TTFT)
	r.latency("tpot", m.TPOT)
	r.latency("itl", m.ITL)
	r.latency("e2el", m.E2EL)
	return r
}

func mean(total *int, n int) *float64 {
	if total == nil {
		return nil
	}
	v := float64(*total) / float64(n)
	return &v
}

// set keeps a value under the name of its metric; what is no metric, or not
// measured, is left out.
func (r *Round) set(name string, v *float64) {
	if _, ok := Find(name); ok && v != nil {
		r.Values[name] = *v
	}
}

func (r *Round) latency(name string, l *load.Latency) {
	if l == nil {
		return
	}
	for _, q := range []struct {
		name  string
		value float64
		least int
	}{{"p50", l.P50, 1}, {"p90", l.P90, 1}, {"p99", l.P99, MinTail}} {
		metric := fmt.Sprintf("%s_%s_ms", name, q.name)
		if _, ok := Find(metric); ok && l.N >= q.least {
			r.Values[metric], r.Samples[metric] = q.value, l.N
		}
	}
}
