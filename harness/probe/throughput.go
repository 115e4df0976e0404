package probe

import (
	"fmt"
	"math"
	"sort"

	"touchstone/harness/exchange"
	"touchstone/harness/load"
	"touchstone/harness/verdict"
)

// throughputProbe records what the load measured and reads the load's own
// outputs: a server can be fast because it talks gibberish. The numbers are
// recorded here and not yet judged.
type throughputProbe struct{}

func (throughputProbe) Area() verdict.Area { return verdict.Throughput }

func (throughputProbe) Reads() []verdict.Area { return []verdict.Area{verdict.Throughput} }

func (throughputProbe) Plan(env Env) []exchange.Request {
	if env.Workload == nil || !serves(env.Target, env.Workload.API) {
		return nil
	}
	requests, _ := load.Plan(*env.Workload, load.Limits{Salt: env.Salt})
	return requests
}

const (
	// flagged is the share of sampled texts that a healthy build may have
	// flagged by the gross rules: none of 40 answers of the reference model to
	// the founding prompt at temperature 0.7 was bad, and the rules flag under
	// 1 % of good texts.
	flagged = 0.01
)

func (t throughputProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	items := ev.In(verdict.Throughput)
	if len(items) == 0 {
		why := "no load was run"
		if w := ev.Workload; w != nil && !serves(ev.Target, w.API) {
			why = fmt.Sprintf("workload %s asks %s, which this server lacks", w.Name, w.API.Path())
		}
		o.skip(verdict.ThroughputRecorded, "%s", why)
		return o
	}
	var xs []*exchange.Exchange
	for _, it := range items {
		if it.Exchange != nil {
			xs = append(xs, it.Exchange)
		}
	}
	if len(xs) == 0 {
		return o // the server's coverage says so
	}
	t.requests(ev, items, &o)
	t.coherent(ev, items, &o)
	// One prompt may well get one answer at temperature 0, whatever nonce
	// stands in it.
	if w := ev.Workload; w != nil && len(w.Texts()) >= sameFew {
		sameAnswer(ev, &o, verdict.ThroughputSame, "prompts of the load", ok(items))
	}
	m := load.Measure(xs)
	t.nonces(ev, m, &o)
	t.recorded(m, &o)
	return o
}

func (throughputProbe) requests(ev *Evidence, items []Item, o *Outcome) {
	byClass := map[string][]Item{}
	sent, limited := 0, 0
	for _, it := range items {
		if it.Exchange == nil {
			continue
		}
		sent++
		switch {
		case it.Failure == nil || it.Failure.Class == exchange.Cancelled:
		case it.Exchange.Status == tooMany:
			limited++
		default:
			byClass[failureName(it)] = append(byClass[failureName(it)], it)
		}
	}
	if limited > 0 {
		o.add(verdict.Finding{
			Check: verdict.ThroughputRequests, Status: verdict.Inconclusive,
			Summary:  fmt.Sprintf("%d requests of the load were answered with 429, so its numbers say nothing; lower the workload's concurrency", limited),
			Measured: share(limited, sent), Limit: "0",
		})
	}
	names := make([]string, 0, len(byClass))
	for n := range byClass {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		it := byClass[n][0]
		o.add(verdict.Finding{
			Check: verdict.ThroughputRequests, Status: verdict.Fail,
			Summary:  fmt.Sprintf("%d requests of the load failed: %s", len(byClass[n]), n),
			Measured: share(len(byClass[n]), sent), Limit: "0",
			Evidence: excerpt(it.Failure.Detail), Where: it.Request.ID, Reproduce: ev.reproduce(it),
		})
	}
	if limited == 0 && len(names) == 0 {
		o.add(verdict.Finding{Check: verdict.ThroughputRequests, Status: verdict.Pass,
			Summary: fmt.Sprintf("%d requests of the load sent, none failed", sent), Measured: "0", Limit: "0"})
	}
}

// coherent reads the load's texts. They are sampled, so one odd text proves
// nothing: it fails when more are flagged than a share of 1 % explains.
func (throughputProbe) coherent(ev *Evidence, items []Item, o *Outcome) {
	judged, bad := 0, 0
	var first verdict.Finding
	for _, it := range items {
		if !it.OK() {
			continue
		}
		judged++
		found := sampled(ev, it)
		if len(found) == 0 {
			continue
		}
		bad++
		if bad == 1 {
			first = verdict.Finding{Evidence: found[0].Excerpt, Where: it.Request.ID, Reproduce: ev.reproduce(it),
				Summary: fmt.Sprintf("; the first: %s (%s)", found[0].Summary, found[0].Check)}
		}
	}
	if judged == 0 {
		return
	}
	limit := atLeast(judged, flagged, significance)
	f := verdict.Finding{
		Check: verdict.ThroughputCoherence, Status: verdict.Pass,
		Summary:  fmt.Sprintf("%s of the load's own outputs are degenerate", share(bad, judged)),
		Measured: share(bad, judged), Limit: fmt.Sprintf("under %d", limit),
	}
	if bad > 0 {
		f.Evidence, f.Where, f.Reproduce = first.Evidence, first.Where, first.Reproduce
		f.Summary += first.Summary
	}
	if bad >= limit {
		f.Status = verdict.Fail
		f.Summary += "; the throughput of such a server means nothing"
	}
	o.add(f)
}

// nonces looks for what only another request was sent. One such word is enough:
// of 64 million, no server finds it by chance, and a leak need not come back.
// Where all requests have one prompt nobody has a word of his own.
func (throughputProbe) nonces(ev *Evidence, m load.Metrics, o *Outcome) {
	if w := ev.Workload; w == nil || !w.Unique() || m.Successes == 0 {
		return
	}
	leaks := m.ForeignNonces
	f := verdict.Finding{Check: verdict.ThroughputNonces, Status: verdict.Pass, Measured: share(len(leaks), m.Successes), Limit: "0",
		Summary: "no reply of the load holds the nonce of another request"}
	if len(leaks) > 0 {
		first := leaks[0]
		f.Status, f.Where, f.Evidence = verdict.Fail, first.ID, first.Nonce
		f.Summary = fmt.Sprintf("%s of the load's replies hold the nonce of another request; the first: %q, which %s was sent",
			share(len(leaks), m.Successes), first.Nonce, first.Owner)
	}
	o.add(f)
}

// recorded says what was measured. It passes when there is a number.
func (throughputProbe) recorded(m load.Metrics, o *Outcome) {
	f := verdict.Finding{Check: verdict.ThroughputRecorded, Limit: "recorded, not judged"}
	if m.OutputTokensPerS == nil || m.RequestsPerS == nil || *m.OutputTokensPerS <= 0 || math.IsNaN(*m.OutputTokensPerS) {
		f.Summary = "the load gave no throughput"
		if why := m.NotMeasured["output_tokens_per_s"]; why != "" {
			f.Summary += ": " + why
		}
		o.add(f)
		return
	}
	f.Status = verdict.Pass
	f.Summary = fmt.Sprintf("%s output tok/s, %s req/s over %d requests", number(*m.OutputTokensPerS), number(*m.RequestsPerS), m.Successes)
	f.Measured = number(*m.OutputTokensPerS) + " tok/s"
	o.add(f)
}
