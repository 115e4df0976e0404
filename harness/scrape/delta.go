package scrape

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Server is what a server counted between two snapshots. Nil: not told. It is
// plain data, and kept with the run.
type Server struct {
	Engine      string `json:"engine"`                 // whose names were read
	NotMeasured string `json:"not_measured,omitempty"` // why there is nothing below

	PromptTokens *float64 `json:"prompt_tokens"` // cached ones included
	OutputTokens *float64 `json:"output_tokens"`
	CacheQueries *float64 `json:"prefix_cache_queries"` // prompt tokens looked up
	CacheHits    *float64 `json:"prefix_cache_hits"`    // prompt tokens found
	CachedShare  *float64 `json:"cached_share"`         // hits ÷ queries

	// Means, in milliseconds, of the requests and tokens that ended meanwhile.
	TTFT *float64 `json:"ttft_mean_ms"`
	TPOT *float64 `json:"tpot_mean_ms"`
	ITL  *float64 `json:"itl_mean_ms"`
	E2EL *float64 `json:"e2el_mean_ms"`
	// Of a prompt token that was computed, where that is all that is told.
	Prefill *float64 `json:"prefill_token_mean_ms"`

	Preemptions      *float64 `json:"preemptions"`
	Drafts           *float64 `json:"drafts"`
	DraftedTokens    *float64 `json:"drafted_tokens"`
	AcceptedTokens   *float64 `json:"accepted_tokens"`
	AcceptanceRate   *float64 `json:"acceptance_rate"`   // accepted ÷ drafted
	AcceptanceLength *float64 `json:"acceptance_length"` // 1 + accepted ÷ drafts: tokens a step

	Restarted string `json:"restarted,omitempty"` // what shows that the server was started anew; empty: it was not
}

// Missing is a Server of which nothing is known.
func Missing(why error) Server { return Server{NotMeasured: why.Error()} }

// Delta tells what happened between two snapshots of one server.
func Delta(before, after Snapshot) Server {
	s := Server{Engine: after.Engine, Restarted: restarted(before, after)}
	if after.Engine == "" {
		s.NotMeasured = "/metrics has no name that is known of vLLM, SGLang or llama.cpp"
		return s
	}
	if s.Restarted != "" {
		s.NotMeasured = "the counters began anew"
		return s
	}
	d := delta{before, after}
	n := engines[slices.IndexFunc(engines, func(n names) bool { return n.name == after.Engine })]
	s.tokens(d, n)
	s.times(d, n)
	s.Preemptions = d.of(n.preemptions)
	s.drafts(d, n)
	return s
}

func (s *Server) tokens(d delta, n names) {
	s.PromptTokens, s.OutputTokens, s.CacheHits = d.of(n.prompt), d.of(n.output), d.of(n.hits)
	if n.uncached && s.PromptTokens != nil && s.CacheHits != nil {
		s.PromptTokens = ptr(*s.PromptTokens + *s.CacheHits)
	}
	if s.CacheQueries = d.of(n.queries); s.CacheQueries == nil && s.CacheHits != nil {
		s.CacheQueries = s.PromptTokens
	}
	s.CachedShare = ratio(s.CacheHits, s.CacheQueries)
}

func (s *Server) times(d delta, n names) {
	s.TTFT, s.TPOT, s.ITL, s.E2EL = d.mean(n.ttft), d.mean(n.tpot), d.mean(n.itl), d.mean(n.e2el)
	if n.decodeSeconds != "" {
		s.TPOT = thousand(ratio(d.of([]string{n.decodeSeconds}), s.OutputTokens))
		s.Prefill = thousand(ratio(d.of([]string{n.prefillSeconds}), d.of(n.prompt)))
	}
}

func (s *Server) drafts(d delta, n names) {
	s.Drafts, s.DraftedTokens, s.AcceptedTokens = d.of(n.drafts), d.of(n.drafted), d.of(n.accept)
	s.AcceptanceRate = ratio(s.AcceptedTokens, s.DraftedTokens)
	if r := ratio(s.AcceptedTokens, s.Drafts); r != nil {
		s.AcceptanceLength = ptr(1 + *r)
	}
	// A gauge is of the last steps alone, and stays 0 where nothing is drafted.
	if v, count := sum(d.after.Gauges, n.acceptLength); count > 0 && v > 0 {
		s.AcceptanceLength = ptr(v / float64(count))
	}
}

type delta struct{ before, after Snapshot }

// of returns by how much the first of these counters that is there grew. One
// that appeared only after the load counts from 0.
func (d delta) of(names []string) *float64 {
	for _, name := range names {
		if v, n := sum(d.after.Counters, name); n > 0 {
			was, _ := sum(d.before.Counters, name)
			return ptr(v - was)
		}
	}
	return nil
}

// mean returns the mean in milliseconds of what histograms in seconds took in.
func (d delta) mean(names []string) *float64 {
	for _, name := range names {
		if m := ratio(d.of([]string{name + "_sum"}), d.of([]string{name + "_count"})); m != nil {
			return thousand(m)
		}
	}
	return nil
}

// restarted says what shows that a server is not the process that it was: a
// counter that fell or is gone, another start time, or a series that was
// created anew (Python's prometheus_client tells when). A server that restarts
// and then counts beyond what it had is seen by its start time alone.
func restarted(before, after Snapshot) string {
	for _, series := range sorted(before.Counters) {
		was := before.Counters[series]
		is, there := after.Counters[series]
		if !there && was > 0 {
			return fmt.Sprintf("%s is gone, it stood at %g", series, was)
		}
		if there && is < was {
			return fmt.Sprintf("%s fell from %g to %g", series, was, is)
		}
	}
	for _, series := range sorted(before.Gauges) {
		base, _, _ := strings.Cut(series, "{")
		if base != "process_start_time_seconds" && !strings.HasSuffix(base, "_created") {
			continue
		}
		if is, there := after.Gauges[series]; there && is != before.Gauges[series] {
			return fmt.Sprintf("%s changed from %.3f to %.3f", series, before.Gauges[series], is)
		}
	}
	return ""
}

func sorted(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func ratio(a, b *float64) *float64 {
	if a == nil || b == nil || *b <= 0 {
		return nil
	}
	return ptr(*a / *b)
}

func thousand(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return ptr(1000 * *v)
}

func ptr(v float64) *float64 { return &v }
