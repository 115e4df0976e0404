package load

// Formulas says in words how each number of Metrics is computed, by its name
// in JSON. Tools give one name to different quantities (GuideLLM's ITL is
// vLLM's TPOT), so the formula is printed with the number. Times count from
// the intended send; "content" is text or reasoning that is not empty, and a
// content chunk is a streamed event that holds some.
func Formulas() map[string]string {
	return map[string]string{
		"seconds":             "last end − first start, over all requests, failed ones included",
		"requests_per_s":      "successes ÷ seconds",
		"output_tokens_per_s": "output_tokens ÷ seconds",
		"total_tokens_per_s":  "(prompt_tokens + output_tokens) ÷ seconds",
		"prompt_tokens":       "sum over successes of usage.prompt_tokens, else of the prompt's token ids",
		"output_tokens":       "sum over successes; counted as token_source says",
		"token_source":        "usage: usage.completion_tokens; ids: generated token ids; chunks: content chunks, which may hold several tokens each",
		"cached_share":        "sum of usage.prompt_tokens_details.cached_tokens ÷ sum of usage.prompt_tokens, over successes that tell both",
		"ttft_ms":             "intended send → first content chunk",
		"tpot_ms":             "(last content chunk − first content chunk) ÷ (tokens − tokens in the first content chunk, taken as 1 where the server does not tell), a value a request",
		"itl_ms":              "gap between consecutive content chunks of a request (inter-chunk gap, ICG), all requests pooled; the time between tokens only where tokens_per_chunk is 1",
		"e2el_ms":             "intended send → last content chunk; → last byte where not streamed",
		"trailer_ms":          "last content chunk → last byte (usage, [DONE])",
		"client_lag_ms":       "intended send → request handed to the transport",
		"p99_interval":        "order statistics that hold the true p99 with the confidence beside them, by the exact binomial distribution, as if values were independent; an end is null where too few values bound it",
		"lengths":             "output tokens of the successes that tell how many",
		"tokens_per_chunk":    "output tokens ÷ content chunks, over streamed successes whose tokens are not counted by chunks",
		"coalesced_share":     "gaps of 0 ÷ all gaps between content chunks: events that one read returned together",
		"count_mismatches":    "successes whose usage.completion_tokens is not the number of generated ids, or is 0 beside a text",
		"peak_in_flight":      "largest number of requests between their start and end at one moment",
		"mean_in_flight":      "sum of (end − start) ÷ seconds (Little's law)",
	}
}
