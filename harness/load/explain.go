package load

import "fmt"

// explain says why a number is missing.
func (t *tally) explain() {
	const nothing = "no request was sent"
	m := &t.m
	why := func(missing bool, name, reason string) {
		if !missing {
			return
		}
		if m.Successes == 0 {
			reason = "no request succeeded"
		}
		if m.Requests == 0 {
			reason = nothing
		}
		m.NotMeasured[name] = reason
	}
	noTimes := "no time passed between the first start and the last end"
	output := fmt.Sprintf("%s no count of output tokens", tells(t.untold))
	prompt := fmt.Sprintf("%s no count of prompt tokens", tells(t.prompt.untold))
	rate := noTimes
	if t.untold > 0 {
		rate = output
	}
	total := rate
	if t.untold == 0 && t.prompt.untold > 0 {
		total = prompt
	}
	stream, pace, gaps := "no streamed success had content", "no streamed success tells of several tokens in several chunks", "no streamed success had two chunks with content"
	norm := "no success tells of output tokens and their time"
	if t.streamed == 0 {
		stream, pace, gaps = "not streamed", "not streamed", "not streamed"
	}
	if m.Seconds == nil {
		reason := noTimes
		if m.Requests == 0 {
			reason = nothing
		}
		m.NotMeasured["seconds"], m.NotMeasured["mean_in_flight"] = reason, reason
	}
	why(m.RequestsPerS == nil, "requests_per_s", noTimes)
	why(m.OutputTokens == nil, "output_tokens", output)
	why(m.PromptTokens == nil, "prompt_tokens", prompt)
	why(m.OutputTokensPerS == nil, "output_tokens_per_s", rate)
	why(m.TotalTokensPerS == nil, "total_tokens_per_s", total)
	why(m.Plateau == nil, "plateau", t.noPlateau)
	why(m.PerSecond == nil, "per_second", rate)
	if len(t.how.SLO) > 0 {
		why(m.Goodput == nil, "goodput", nothing)
	}
	why(m.Normal == nil, "normalized_ms", norm)
	why(m.ManyEventReads == nil, "many_event_reads", gaps)
	why(m.CachedShare == nil, "cached_share", "the server tells no cached tokens")
	why(m.TTFT == nil, "ttft_ms", stream)
	why(m.TPOT == nil, "tpot_ms", pace)
	why(m.ITL == nil, "itl_ms", gaps)
	why(m.CoalescedShare == nil, "coalesced_share", gaps)
	why(m.E2EL == nil, "e2el_ms", stream)
	why(m.Trailer == nil, "trailer_ms", stream)
	why(m.ClientLag == nil, "client_lag_ms", "no exchange has a start time")
	why(m.Lengths == nil, "lengths", output)
	why(m.TokensPerChunk == nil, "tokens_per_chunk", pace)
}

func tells(n int) string { return count(n, "success tells", "successes tell") }

// severalTokens is the mean of tokens a chunk from which on a gap between
// chunks is no longer said to be one between tokens. Tokens that end within a
// character carry no text of their own and lift the mean a little in scripts
// other than Latin, so it is not 1.
const severalTokens = 1.05

// warn says what has to be known with the numbers.
func (t *tally) warn() {
	m := &t.m
	say := func(format string, args ...any) { m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...)) }
	if m.Empty > 0 {
		say("%s had no text: their speed says nothing", count(m.Empty, "successful reply", "successful replies"))
	}
	if t.untold > 0 {
		say("%s no count of output tokens, so there is no token rate", tells(t.untold))
	}
	switch m.TokenSource {
	case "chunks":
		say("the server tells no usage: output tokens are chunks, and there may be more")
	case "mixed":
		say("output tokens are counted in different ways: see token_sources")
	}
	if m.CountMismatches > 0 {
		say("usage and token ids differ in %s", count(m.CountMismatches, "reply", "replies"))
	}
	if m.TokensPerChunk != nil && *m.TokensPerChunk > severalTokens {
		say("a chunk holds %.2f tokens on average: itl_ms is the time between chunks, not tokens", *m.TokensPerChunk)
	}
	if l := m.E2EL; l != nil && l.P99Interval != nil && l.P99Interval.Hi == nil {
		say("%s can't bound p99 from above: that takes %d", count(l.N, "value", "values"), l.P99Interval.Needs)
	}
}
