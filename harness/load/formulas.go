package load

// Formulas says in words how each number of Metrics is computed, by its name
// in JSON. Tools give one name to different quantities (GuideLLM's ITL is
// vLLM's TPOT), so the formula is printed with the number. Times count from
// the intended send; "content" is text or reasoning that is not empty, and a
// content chunk is a streamed event that holds some.
func Formulas() map[string]string {
	return map[string]string{
		"seconds":                     "last end − first start, over all requests, failed ones included",
		"requests_per_s":              "successes ÷ seconds",
		"output_tokens_per_s":         "output_tokens ÷ seconds",
		"total_tokens_per_s":          "(prompt_tokens + output_tokens) ÷ seconds",
		"plateau":                     "closed loop: from the first to the last moment in which 95 % of the cap are in flight, where at least as many requests end as the cap has slots and no more than 5 % of the time is below; open loop: from the end of the ramp, and not before the first request has ended, to the last start",
		"plateau.output_tokens_per_s": "output tokens read within the plateau ÷ its length; each content chunk counts as many tokens as the server tells of it, else an equal share of the reply's count; a reply in one piece counts evenly over its time",
		"plateau.total_tokens_per_s":  "the same and the prompt tokens of the first content chunks within it",
		"plateau.requests_per_s":      "successes that ended within the plateau ÷ its length",
		"plateau.mean_in_flight":      "time in flight within the plateau, of all requests together ÷ its length",
		"plateau.little":              "sum of e2el_ms of the successes that ended within the plateau ÷ time in flight within it (Little's law says 1, up to plateau.little_edge = the longest flight ÷ the plateau's length)",
		"plateau.trend":               "output tokens in bins of the median flight, 1 s at least: Theil–Sen slope × (bins − 1) ÷ median bin, with the p-value of Mann and Kendall; needs 10 bins",
		"per_second":                  "output tokens by the second in which they were read, counted as in the plateau",
		"goodput":                     "requests whose latencies all meet their limits; a latency that was not measured meets none, a failure neither; share of the requests sent, and a second",
		"normalized_ms":               "e2el_ms ÷ output tokens, a value a request",
		"many_event_reads":            "reads that brought several content chunks ÷ reads that brought any",
		"failed_in":                   "failures by how far the request had come: connect; header: no status line; prefill: no content; decode: some content",
		"prompt_tokens":               "sum over successes of usage.prompt_tokens, else of the prompt's token ids",
		"output_tokens":               "sum over successes; counted as token_source says",
		"token_source":                "usage: usage.completion_tokens; ids: generated token ids; chunks: content chunks, which may hold several tokens each",
		"cached_share":                "sum of usage.prompt_tokens_details.cached_tokens ÷ sum of usage.prompt_tokens, over successes that tell both",
		"ttft_ms":                     "intended send → first content chunk",
		"tpot_ms":                     "(last content chunk − first content chunk) ÷ (tokens − tokens in the first content chunk, taken as 1 where the server does not tell), a value a request",
		"itl_ms":                      "gap between consecutive content chunks of a request (inter-chunk gap, ICG), all requests pooled; the time between tokens only where tokens_per_chunk is 1",
		"e2el_ms":                     "intended send → last content chunk; → last byte where not streamed",
		"trailer_ms":                  "last content chunk → last byte (usage, [DONE])",
		"client_lag_ms":               "intended send → request handed to the transport",
		"p99_interval":                "order statistics that hold the true p99 with the confidence beside them, by the exact binomial distribution, as if values were independent; an end is null where too few values bound it",
		"lengths":                     "output tokens of the successes that tell how many",
		"tokens_per_chunk":            "output tokens ÷ content chunks, over streamed successes whose tokens are not counted by chunks",
		"coalesced_share":             "gaps of 0 ÷ all gaps between content chunks: events that one read returned together",
		"count_mismatches":            "successes whose usage.completion_tokens is not the number of generated ids, or is 0 beside a text",
		"peak_in_flight":              "largest number of requests between their start and end at one moment",
		"mean_in_flight":              "sum of (end − start) ÷ seconds (Little's law)",
	}
}
