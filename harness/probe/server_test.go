package probe

import (
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/verdict"
)

// failing makes an item fail.
func failing(it *Item, class exchange.Class, code int) {
	it.Failure = &exchange.Failure{Class: class, Detail: "why"}
	it.Exchange.Status = code
}

func TestServer(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func([]Item)
		check  string
		status verdict.Status
	}{
		"healthy":           {func([]Item) {}, verdict.ServerFailures, verdict.Pass},
		"one HTTP 500":      {func(is []Item) { failing(&is[1], exchange.HTTPStatus, 500) }, verdict.ServerFailures, verdict.Fail},
		"one time-out":      {func(is []Item) { failing(&is[1], exchange.TimeoutStall, 200) }, verdict.ServerFailures, verdict.Fail},
		"one broken stream": {func(is []Item) { failing(&is[1], exchange.Truncated, 200) }, verdict.ServerFailures, verdict.Fail},
		"all HTTP 500": {func(is []Item) {
			for i := range is {
				failing(&is[i], exchange.HTTPStatus, 500)
			}
		}, verdict.ServerDied, verdict.Fail},
		"went away":   {func(is []Item) { failing(&is[3], exchange.Refused, 0) }, verdict.ServerDied, verdict.Fail},
		"rate limit":  {func(is []Item) { failing(&is[3], exchange.HTTPStatus, 429) }, verdict.ServerRateLimit, verdict.Inconclusive},
		"interrupted": {func(is []Item) { failing(&is[3], exchange.Cancelled, 0) }, verdict.ServerCoverage, verdict.Inconclusive},
		"missing":     {func(is []Item) { is[3].Exchange, is[3].Reply = nil, nil }, verdict.ServerCoverage, verdict.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			l := facts(4, 0, false, "")
			c.spoil(l.Items)
			status(t, serverProbe{}.Score(l.Evidence), c.check, c.status)
		})
	}
}

func TestRateLimitIsNoRegression(t *testing.T) {
	l := facts(4, 0, false, "")
	for i := range l.Items {
		failing(&l.Items[i], exchange.HTTPStatus, 429)
	}
	o := serverProbe{}.Score(l.Evidence)
	for _, f := range o.Findings {
		if f.Status == verdict.Fail {
			t.Errorf("429 is called a regression: %+v", f)
		}
	}
}

func TestCapabilityLost(t *testing.T) {
	l := facts(4, 0, true, "")
	l.Baseline.Target.Capabilities = map[exchange.Capability]exchange.State{exchange.CapLogprobs: exchange.Present, exchange.CapTokenize: exchange.Absent}
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerCapability, verdict.Pass)
	l.Target.Capabilities[exchange.CapLogprobs] = exchange.Absent
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerCapability, verdict.Fail)
	// A question that died is no fact about the server.
	l.Target.Capabilities[exchange.CapLogprobs] = exchange.Unknown
	if o := (serverProbe{}).Score(l.Evidence); len(find(o, verdict.ServerCapability)) > 0 || len(o.NotCovered) != 1 {
		t.Errorf("findings %+v, not covered %+v", o.Findings, o.NotCovered)
	}
	// Another engine never had to be able to do the same.
	l.Baseline.Target.Engine = "other"
	o := serverProbe{}.Score(l.Evidence)
	if len(find(o, verdict.ServerCapability)) > 0 || len(o.NotCovered) != 1 {
		t.Errorf("findings %+v, not covered %+v", o.Findings, o.NotCovered)
	}
}

func TestNaN(t *testing.T) {
	l := facts(4, 0, false, "")
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerNaN, verdict.Pass)

	l.Items[2].Reply.Tokens[0].Logprob, l.Items[2].Reply.Tokens[0].Censored = nil, true // a floor of the server's is a number
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerNaN, verdict.Pass)
	l.Items[2].Reply.Tokens[0].Censored = false
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerNaN, verdict.Fail)

	l = facts(4, 0, false, "")
	failing(&l.Items[1], exchange.HTTPStatus, 500)
	l.Items[1].Failure.Detail = "HTTP 500: Out of range float values are not JSON compliant: nan"
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerNaN, verdict.Fail)

	l = facts(4, 0, false, "")
	for _, it := range l.Items {
		it.Reply.Tokens = nil
	}
	if fs := find(serverProbe{}.Score(l.Evidence), verdict.ServerNaN); len(fs) > 0 {
		t.Errorf("judged without data: %+v", fs)
	}
	l.Target.NaNLogits = true
	status(t, serverProbe{}.Score(l.Evidence), verdict.ServerNaN, verdict.Fail)
}
