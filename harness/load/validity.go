package load

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/health"
	"touchstone/harness/scrape"
)

// Void is a reason why the numbers of a load mean nothing. It comes before
// statistics: a void run is neither fast nor slow.
type Void struct {
	Reason    string             `json:"reason"`
	Text      string             `json:"text"`
	Numbers   map[string]float64 `json:"numbers,omitempty"` // what was held against what
	Incorrect bool               `json:"incorrect"`         // the build is wrong, not just unmeasured
}

// The reasons.
const (
	VoidFailed     = "failed-requests"
	VoidUnfinished = "unfinished"
	VoidZero       = "tokens-zero"
	VoidDisagree   = "tokens-disagree"
	VoidIncorrect  = "incorrect"
	VoidForeign    = "foreign-nonce"
	VoidCPU        = "client-cpu"
	VoidLag        = "client-lag"
	VoidReads      = "client-reads"
	VoidSchedule   = "client-schedule"
	VoidRestarted  = "server-restarted"
	VoidNoPlateau  = "no-plateau"
	VoidTrend      = "trend"
	VoidLittle     = "littles-law"
)

// Want is what a load is judged by, beside what it left.
type Want struct {
	How     How
	Planned int // requests; fewer that were sent make a load unfinished; 0: not known
	// Plateau says that the numbers are for a comparison of builds, which needs
	// the server to have been under one and the same load.
	Plateau   bool
	Incorrect []string // checks of this very traffic that failed, by name
}

// Thresholds of Validity.
const (
	// margin is the smallest equivalence margin that a comparison asks for.
	margin = 0.03
	// enough is how long a client is watched before its CPU and its lag are
	// judged, in seconds: 100 ticks of 10 ms are what a 99th percentile takes.
	enough = 1.0
	// busyCPU is the share of all cores above which a load generator distorts
	// what it measures: k6's documentation says to stay below 80 %. One client
	// shares the rest with the kernel, which does its part of each read.
	busyCPU = 0.80
	// busyReads is the share of the CPU above which bunched reads are the
	// client's doing: below half of it there was time to read each event alone,
	// so the server sent them together.
	busyReads = 0.40
	// bunched is the share of reads with several events above which a gap
	// between chunks says more of the client than of the server. At p90 it is
	// what the quantile that is compared shows. A measured Python client had
	// its median gap at 0.01 ms at saturation, far above this.
	bunched = 0.10
	// lateMS is a lag that is never held against a client, in milliseconds: one
	// tick. lateness of the 99th percentile may be more than that, as long as
	// it is less than the margin of what is compared.
	lateMS = 10.0
	// promptMS is a schedule lag that is never held against a client.
	promptMS = 1.0
	// trendP is the level of the test for a trend, and trendChange the smallest
	// change over a plateau that counts: a line that changes by d has its mean
	// d/2 from either end, so less than twice the margin can't reach it.
	trendP      = 0.01
	trendChange = 2 * margin
	// littleEdgeMost is the largest edge with which Little's law says anything.
	littleEdgeMost = 0.5
)

// Validity tells why the numbers of a load are void; nothing: they are valid.
// h and s may be nil, where the client was not watched or the server tells no
// metrics. What can't be judged for want of data is no reason by itself; the
// plateau is, where one is wanted.
func Validity(m Metrics, h *health.Health, s *scrape.Server, w Want) []Void {
	v := &validity{m: m, w: w}
	v.requests()
	v.tokens()
	v.outputs()
	v.client(h)
	if s != nil {
		v.server(*s)
	}
	v.steady()
	return v.out
}

type validity struct {
	m   Metrics
	w   Want
	out []Void
}

type numbers map[string]float64

func (v *validity) add(reason string, n numbers, format string, args ...any) {
	v.out = append(v.out, Void{Reason: reason, Text: fmt.Sprintf(format, args...), Numbers: n})
}

func (v *validity) requests() {
	m := v.m
	failed := 0
	var classes []string
	for c, n := range m.Failures {
		if n > 0 && c != exchange.Cancelled {
			failed += n
			classes = append(classes, fmt.Sprintf("%d %s", n, c))
		}
	}
	if failed > 0 {
		sort.Strings(classes)
		v.add(VoidFailed, numbers{"failed": float64(failed), "requests": float64(m.Requests)},
			"%d of %s failed (%s): what failed took time and gave no tokens", failed, count(m.Requests, "request", "requests"), strings.Join(classes, ", "))
	}
	if left := max(v.w.Planned-m.Requests, 0) + m.Failures[exchange.Cancelled]; left > 0 || m.Requests == 0 {
		v.add(VoidUnfinished, numbers{"unfinished": float64(left), "planned": float64(v.w.Planned)},
			"the load was not finished: %s not sent or interrupted", count(left, "request was", "requests were"))
	}
}

func (v *validity) tokens() {
	m := v.m
	if m.Successes == 0 {
		return // the failures say so
	}
	switch {
	case m.OutputTokens == nil:
		v.add(VoidZero, nil, "the output tokens are not known: %s", m.NotMeasured["output_tokens"])
	case m.Lengths != nil && m.Lengths.Min == 0:
		v.add(VoidZero, numbers{"min": 0, "output_tokens": float64(*m.OutputTokens)}, "there are replies of 0 tokens, %d tokens in all", *m.OutputTokens)
	case m.Empty == m.Successes:
		v.add(VoidZero, numbers{"empty": float64(m.Empty)}, "no reply has any text")
	}
	if m.CountMismatches > 0 {
		v.add(VoidDisagree, numbers{"replies": float64(m.CountMismatches)},
			"usage is not the number of token ids, or 0 beside a text, in %s", count(m.CountMismatches, "reply", "replies"))
	}
}

func (v *validity) outputs() {
	for _, check := range v.w.Incorrect {
		v.out = append(v.out, Void{Reason: VoidIncorrect, Incorrect: true,
			Text: fmt.Sprintf("the outputs of this very load fail %s: the speed of such a server means nothing", check)})
	}
	if leaks := v.m.ForeignNonces; len(leaks) > 0 {
		l := leaks[0]
		v.out = append(v.out, Void{Reason: VoidForeign, Incorrect: true, Numbers: numbers{"replies": float64(len(leaks))},
			Text: fmt.Sprintf("%s the nonce of another request; the first: %s says %q, which %s was sent",
				count(len(leaks), "reply holds", "replies hold"), l.ID, l.Nonce, l.Owner)})
	}
}

// client says whether the client was the bottleneck. What a lag does to a
// number is held against the latency that it adds to.
func (v *validity) client(h *health.Health) {
	m := v.m
	base := m.E2EL
	if m.TTFT != nil {
		base = m.TTFT
	}
	if base == nil {
		return
	}
	watched := h != nil && h.Seconds >= enough
	if watched && h.CPUShare > busyCPU {
		v.add(VoidCPU, numbers{"cpu_share": h.CPUShare, "limit": busyCPU},
			"the client used %.0f %% of its %d cores, more than %.0f %%: give it more cores, or make less load", 100*h.CPUShare, h.Cores, 100*busyCPU)
	}
	if limit := math.Max(lateMS, margin*base.P50); watched && h.LagP99MS > limit {
		v.add(VoidLag, numbers{"lag_p99_ms": h.LagP99MS, "limit": limit},
			"the client woke up %.1f ms late at p99, more than %.1f ms: its reads are as late; give it a core of its own", h.LagP99MS, limit)
	}
	// Without a watch it can't be told whose doing it was, and no data is never
	// a pass. A load too short to be watched tells nothing either way.
	blamed := h == nil || watched && h.CPUShare > busyReads
	if r := m.ManyEventReads; r != nil && *r > bunched && blamed {
		v.add(VoidReads, numbers{"many_event_reads": *r, "limit": bunched},
			"%.0f %% of the reads brought several events at once, more than %.0f %%: the client fell behind, and the gaps between chunks are fiction", 100**r, 100*bunched)
	}
	if limit := math.Max(promptMS, margin*base.P50); m.ClientLag != nil && m.ClientLag.P90 > limit && (h == nil || watched) {
		v.add(VoidSchedule, numbers{"client_lag_p90_ms": m.ClientLag.P90, "limit": limit},
			"requests left %.1f ms after their intended time at p90, more than %.1f ms: the load was not the one that was planned", m.ClientLag.P90, limit)
	}
}

// server holds the server's own count against the client's. How the end of a
// text is counted differs by one token a request at most.
func (v *validity) server(s scrape.Server) {
	if s.Restarted != "" {
		v.add(VoidRestarted, nil, "the server was started anew during the load: %s", s.Restarted)
		return
	}
	if s.OutputTokens == nil || v.m.OutputTokens == nil || v.m.Successes < v.m.Requests {
		return
	}
	own, told, limit := float64(*v.m.OutputTokens), *s.OutputTokens, float64(v.m.Requests)
	if math.Abs(own-told) > limit {
		v.add(VoidDisagree, numbers{"client": own, "server": told, "limit": limit},
			"the replies tell %.0f output tokens, the server's /metrics %.0f: one of them is wrong, or somebody else used the server", own, told)
	}
}

func (v *validity) steady() {
	p := v.m.Plateau
	if p == nil {
		if v.w.Plateau {
			v.add(VoidNoPlateau, nil, "the load had no plateau: %s", v.m.NotMeasured["plateau"])
		}
	} else {
		v.plateau(*p)
	}
	if most := v.w.How.Concurrency; !v.w.How.Open && most > 0 && v.m.PeakInFlight > most {
		v.add(VoidLittle, numbers{"peak_in_flight": float64(v.m.PeakInFlight), "concurrency": float64(most)},
			"%d requests were in flight at once, %d at most were allowed", v.m.PeakInFlight, most)
	}
}

func (v *validity) plateau(p Plateau) {
	if t := p.Trend; t != nil && t.P < trendP && math.Abs(t.Change) > trendChange {
		v.add(VoidTrend, numbers{"change": t.Change, "p": t.P, "limit": trendChange},
			"the output rate changed by %+.0f %% over the plateau (p = %.2g, %d bins of %.1f s): the server was not in a steady state", 100*t.Change, t.P, t.Bins, t.BinS)
	}
	// In an open loop the cap holds nothing, and the time before the first end
	// is missing by design.
	if v.w.How.Open || p.Little == nil || p.LittleEdge == nil || *p.LittleEdge > littleEdgeMost {
		return
	}
	// The plateau may be 5 % below its full load, and the latencies leave out
	// what comes after the last content; what is more has no explanation.
	if limit := *p.LittleEdge + 1 - full; math.Abs(*p.Little-1) > limit {
		v.add(VoidLittle, numbers{"little": *p.Little, "limit": limit},
			"rate × latency is %.2f of the requests in flight, which differs from 1 by more than %.2f (Little's law): the latencies leave out time for which requests held a slot", *p.Little, limit)
	}
}
