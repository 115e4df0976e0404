package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"touchstone/harness/refserver/sched"
)

// Buckets in seconds, as vLLM's (vllm/v1/metrics/loggers.py).
var (
	firstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	tokenBuckets      = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestBuckets    = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// metrics are the server's Prometheus metrics under vLLM's names.
type metrics struct {
	handler http.Handler

	promptTokens, generationTokens  prometheus.Counter
	success                         *prometheus.CounterVec
	firstToken, between, perTok, e2 prometheus.Observer
}

func newMetrics(engine *sched.Engine, model string) *metrics {
	reg := prometheus.NewRegistry()
	labels := prometheus.Labels{"model_name": model}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels})
		reg.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Observer {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, ConstLabels: labels, Buckets: buckets})
		reg.MustRegister(h)
		return h
	}
	m := &metrics{
		promptTokens:     counter("vllm:prompt_tokens_total", "Prompt tokens of requests whose first token was drawn."),
		generationTokens: counter("vllm:generation_tokens_total", "Generated tokens."),
		success: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:request_success_total",
			Help: "Requests that ended, by reason.", ConstLabels: labels}, []string{"finished_reason"}),
		firstToken: histogram("vllm:time_to_first_token_seconds", "From arrival to the end of the step that drew the first token.", firstTokenBuckets),
		between:    histogram("vllm:inter_token_latency_seconds", "Between the steps that drew two tokens of a sequence.", tokenBuckets),
		perTok:     histogram("vllm:request_time_per_output_token_seconds", "Mean of a request's inter-token latencies.", tokenBuckets),
		e2:         histogram("vllm:e2e_request_latency_seconds", "From arrival to the end of the step that drew the last token.", requestBuckets),
	}
	for _, reason := range []sched.Finish{sched.FinishStop, sched.FinishLength, sched.FinishAbort} {
		m.success.WithLabelValues(string(reason)) // so that they are there before anything ended
	}
	reg.MustRegister(m.success, newEngineCollector(engine, labels))
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// token books a token of a reply, drawn at the given time.
func (m *metrics) token(r *reply, at time.Time) {
	m.generationTokens.Inc()
	if r.first.IsZero() {
		r.first = at
		m.promptTokens.Add(float64(len(r.sched.Prompt)))
		m.firstToken.Observe(at.Sub(r.stream.Submitted).Seconds())
	} else {
		m.between.Observe(at.Sub(r.last).Seconds())
	}
	r.last = at
}

// finished books the end of a reply, err being why it was cut off.
func (m *metrics) finished(r *reply, err error) {
	reason := r.text.finish
	if errors.Is(err, context.Canceled) || reason == "" {
		reason = string(sched.FinishAbort)
	}
	m.success.WithLabelValues(reason).Inc()
	if err != nil || r.first.IsZero() {
		return
	}
	m.e2.Observe(r.last.Sub(r.stream.Submitted).Seconds())
	if n := r.text.count - 1; n > 0 {
		m.perTok.Observe(r.last.Sub(r.first).Seconds() / float64(n))
	}
}

// engineCollector reads the engine's own counts when it is scraped.
type engineCollector struct {
	engine *sched.Engine
	values []engineValue
}

type engineValue struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(sched.Stats) float64
}

func newEngineCollector(e *sched.Engine, labels prometheus.Labels) *engineCollector {
	c := &engineCollector{engine: e}
	add := func(name, help string, kind prometheus.ValueType, of func(sched.Stats) float64) {
		c.values = append(c.values, engineValue{prometheus.NewDesc(name, help, nil, labels), kind, of})
	}
	add("vllm:num_requests_running", "Sequences in the engine's batch.", prometheus.GaugeValue,
		func(s sched.Stats) float64 { return float64(s.Running) })
	add("vllm:num_requests_waiting", "Sequences in the queue.", prometheus.GaugeValue,
		func(s sched.Stats) float64 { return float64(s.Waiting) })
	add("vllm:kv_cache_usage_perc", "Share of the KV cache's blocks in use: 1 is all of them.", prometheus.GaugeValue,
		func(s sched.Stats) float64 { return float64(s.BlocksUsed) / float64(s.NumBlocks) })
	add("vllm:num_preemptions_total", "Sequences sent back to the queue for want of blocks.", prometheus.CounterValue,
		func(s sched.Stats) float64 { return float64(s.Preemptions) })
	add("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", prometheus.CounterValue,
		func(s sched.Stats) float64 { return float64(s.Queries) })
	add("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", prometheus.CounterValue,
		func(s sched.Stats) float64 { return float64(s.Hits) })
	return c
}

func (c *engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range c.values {
		ch <- v.desc
	}
}

func (c *engineCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.engine.Stats()
	for _, v := range c.values {
		ch <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(s))
	}
}
