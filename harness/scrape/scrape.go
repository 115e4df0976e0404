// Package scrape reads what a server counts about itself, at /metrics, before
// and after a load: a second opinion on how much was generated, and the only
// one on its cache, its preemptions and its drafts.
package scrape

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Getter is the part of a client that is needed; *client.Client has it.
type Getter interface {
	Get(ctx context.Context, path string) (status int, contentType string, body []byte, err error)
}

// Snapshot is what /metrics said at one moment: the value of each series, by
// its name and labels as they are written ("vllm:prompt_tokens_total{…}").
type Snapshot struct {
	Engine string // whose names these are: vllm, sglang, llama.cpp; empty: nobody's that is known
	// Counters only grow, unless the server was started anew. The sums and
	// counts of histograms are among them.
	Counters map[string]float64
	Gauges   map[string]float64
}

// limit is how long a server may take to answer: counting must not hold up a
// load, and a server under load answers late.
const limit = 10 * time.Second

// Get reads the metrics of a server. An error says why there are none.
func Get(ctx context.Context, from Getter) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	status, _, body, err := from.Get(ctx, "/metrics")
	switch {
	case err != nil:
		return Snapshot{}, fmt.Errorf("/metrics: %w", err)
	case status == 404 || status == 501: // llama-server without --metrics says 501
		return Snapshot{}, fmt.Errorf("the server has no /metrics (HTTP %d): llama-server needs --metrics, SGLang --enable-metrics", status)
	case status != 200:
		return Snapshot{}, fmt.Errorf("/metrics answered HTTP %d", status)
	}
	return Parse(body)
}

// Parse reads the Prometheus text format.
func Parse(body []byte) (Snapshot, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return Snapshot{}, fmt.Errorf("/metrics is not in the Prometheus text format: %w", err)
	}
	s := Snapshot{Counters: map[string]float64{}, Gauges: map[string]float64{}}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			s.add(name, f.GetType(), m)
		}
	}
	s.Engine = s.engine()
	return s, nil
}

func (s *Snapshot) add(name string, kind dto.MetricType, m *dto.Metric) {
	labels := labelsOf(m)
	switch kind {
	case dto.MetricType_COUNTER:
		s.Counters[name+labels] = m.GetCounter().GetValue()
	case dto.MetricType_HISTOGRAM:
		s.Counters[name+"_sum"+labels] = m.GetHistogram().GetSampleSum()
		s.Counters[name+"_count"+labels] = float64(m.GetHistogram().GetSampleCount())
	case dto.MetricType_GAUGE:
		s.Gauges[name+labels] = m.GetGauge().GetValue()
	case dto.MetricType_UNTYPED:
		s.Gauges[name+labels] = m.GetUntyped().GetValue()
	}
}

// labelsOf writes the labels in the order in which they came, which is the
// same in every answer of a server.
func labelsOf(m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return ""
	}
	parts := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		parts = append(parts, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (s Snapshot) engine() string {
	for _, e := range engines {
		for _, values := range []map[string]float64{s.Counters, s.Gauges} {
			for series := range values {
				if strings.HasPrefix(series, e.prefix) {
					return e.name
				}
			}
		}
	}
	return ""
}

// sum adds up the series of one name, whatever their labels: data-parallel
// engines, streamed and not. n is how many there are that hold a number. They
// are added in one order, so that the same snapshot gives the same digits.
func sum(values map[string]float64, name string) (v float64, n int) {
	for _, series := range sorted(values) {
		if base, _, _ := strings.Cut(series, "{"); base == name && !math.IsNaN(values[series]) {
			v += values[series]
			n++
		}
	}
	return v, n
}
