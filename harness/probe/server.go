package probe

import (
	"fmt"
	"slices"
	"sort"

	"touchstone/harness/exchange"
	"touchstone/harness/verdict"
)

// serverProbe judges the server as such: what failed, what it can no longer
// do, and what the run lacks. It sends nothing.
type serverProbe struct{}

func (serverProbe) Area() verdict.Area { return verdict.Server }

func (serverProbe) Reads() []verdict.Area { return verdict.Areas() }

func (serverProbe) Plan(Env) []exchange.Request { return nil }

func (s serverProbe) Score(ev *Evidence) Outcome {
	var o Outcome
	s.coverage(ev, &o)
	s.failures(ev, &o)
	s.nan(ev, &o)
	s.capabilities(ev, &o)
	return o
}

func (serverProbe) coverage(ev *Evidence, o *Outcome) {
	missing := 0
	first := ""
	for _, it := range ev.Items {
		if it.Exchange == nil || it.Failure != nil && it.Failure.Class == exchange.Cancelled {
			missing++
			if first == "" {
				first = it.Request.ID
			}
		}
	}
	if missing == 0 {
		return
	}
	o.add(verdict.Finding{
		Check: verdict.ServerCoverage, Status: verdict.Inconclusive,
		Summary:  fmt.Sprintf("%d of %d planned requests have no exchange: the run was interrupted or edited", missing, len(ev.Items)),
		Measured: share(len(ev.Items)-missing, len(ev.Items)), Limit: "all", Where: first,
	})
}

// failures: one failed request is one too many, except where the server said
// that it was asked too much, or never could do what was asked.
func (serverProbe) failures(ev *Evidence, o *Outcome) {
	byClass := map[string][]Item{}
	limited, sent, good := 0, 0, 0
	var last Item
	for _, it := range ev.Items {
		if it.Exchange == nil || it.Request.Probe == string(verdict.Throughput) {
			continue
		}
		sent++
		switch {
		case it.OK():
			good++
		case it.Exchange.Status == tooMany:
			limited++
			last = it
		case it.Failure.Class == exchange.Cancelled:
		default:
			class := failureName(it)
			byClass[class] = append(byClass[class], it)
		}
	}
	if limited > 0 {
		o.add(verdict.Finding{
			Check: verdict.ServerRateLimit, Status: verdict.Inconclusive,
			Summary:  fmt.Sprintf("%d requests were answered with 429, so they judge nothing; lower --concurrency", limited),
			Measured: share(limited, sent), Limit: "0", Where: last.Request.ID,
		})
	}
	classes := make([]string, 0, len(byClass))
	failed := 0
	for c, items := range byClass {
		classes = append(classes, c)
		failed += len(items)
	}
	sort.Strings(classes)
	for _, c := range classes {
		it := byClass[c][0]
		f := verdict.Finding{
			Check: verdict.ServerFailures, Status: verdict.Fail,
			Summary:  fmt.Sprintf("%d requests failed: %s", len(byClass[c]), c),
			Measured: share(len(byClass[c]), sent), Limit: "0",
			Evidence: excerpt(it.Failure.Detail), Where: it.Request.ID, Reproduce: ev.reproduce(it),
		}
		if good == 0 && failed == sent && limited == 0 {
			f.Check = verdict.ServerDied
			f.Summary = fmt.Sprintf("the server answers, and all of its %d generations failed: %s", sent, c)
		} else if c == string(exchange.Refused) || c == string(exchange.Dropped) {
			f.Check = verdict.ServerDied
			f.Summary = fmt.Sprintf("the server went away while it was asked: %d requests %s", len(byClass[c]), c)
		}
		o.add(f)
	}
	if failed == 0 && limited == 0 && sent > 0 {
		o.add(verdict.Finding{
			Check: verdict.ServerFailures, Status: verdict.Pass,
			Summary: fmt.Sprintf("%d requests sent, none failed", sent), Measured: "0", Limit: "0",
		})
	}
}

// nan looks for log-probabilities that are not numbers: as an error, or as null
// in a reply (a value below the server's floor is told apart, see
// exchange.Token.Censored).
func (serverProbe) nan(ev *Evidence, o *Outcome) {
	var bad []Item
	judged := 0
	for _, it := range ev.Items {
		switch {
		case it.Exchange == nil:
		case exchange.SaysNaN(it.Failure):
			bad = append(bad, it)
		case it.OK() && len(it.Reply.Tokens) > 0:
			judged++
			if slices.ContainsFunc(it.Reply.Tokens, func(t exchange.Token) bool { return t.Logprob == nil && !t.Censored }) {
				bad = append(bad, it)
			}
		}
	}
	f := verdict.Finding{Check: verdict.ServerNaN, Status: verdict.Fail, Limit: "0", Measured: plural(len(bad), "reply", "replies")}
	switch {
	case len(bad) > 0:
		f.Summary = "log-probabilities are not numbers"
		f.Where, f.Reproduce = bad[0].Request.ID, ev.reproduce(bad[0])
	case ev.Target.NaNLogits:
		f.Summary = "a request that is answered fails when it asks for log-probabilities, because they are not numbers"
		f.Measured = "all that asked"
	case judged == 0:
		return // nobody gave any
	default:
		f.Status, f.Summary = verdict.Pass, "every generated token has a log-probability"
	}
	o.add(f)
}

// capabilities: a patch must not disarm its own detectors.
func (serverProbe) capabilities(ev *Evidence, o *Outcome) {
	if ev.Baseline == nil {
		return
	}
	base := ev.Baseline.Target
	if base.Engine != ev.Target.Engine {
		o.skip(verdict.ServerCapability, "the baseline was recorded on another engine (%s)", base.Engine)
		return
	}
	var lost, unknown []string
	for c, s := range base.Capabilities {
		if s != exchange.Present {
			continue
		}
		switch ev.Target.Capabilities[c] {
		case exchange.Present:
		case exchange.Unknown:
			unknown = append(unknown, string(c))
		default:
			lost = append(lost, string(c))
		}
	}
	sort.Strings(lost)
	sort.Strings(unknown)
	for _, c := range unknown {
		o.skip(verdict.ServerCapability, "%s: the request that asked for it failed", c)
	}
	for _, c := range lost {
		o.add(verdict.Finding{
			Check: verdict.ServerCapability, Status: verdict.Fail,
			Summary:  fmt.Sprintf("the baseline's server had %s, this one has not", c),
			Measured: string(ev.Target.Capabilities[exchange.Capability(c)]), Baseline: string(exchange.Present), Limit: "present", Where: c,
		})
	}
	if len(lost)+len(unknown) == 0 {
		o.add(verdict.Finding{Check: verdict.ServerCapability, Status: verdict.Pass,
			Summary: "everything that the baseline's server could do is still there", Measured: "0 lost", Limit: "0"})
	}
}

// tooMany is HTTP 429.
const tooMany = 429

// failureName is a failure's class, with the status where there is one.
func failureName(it Item) string {
	if it.Failure.Class == exchange.HTTPStatus {
		return fmt.Sprintf("HTTP %d", it.Exchange.Status)
	}
	return string(it.Failure.Class)
}
