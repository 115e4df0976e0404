package scrape

// names are those under which an engine tells a quantity; where it has had
// several in its history, the newest first.
type names struct {
	name, prefix string

	prompt   []string // prompt tokens, computed and cached together
	uncached bool     // prompt leaves the cached ones out, so they are added
	output   []string // generated tokens
	queries  []string // prompt tokens looked up in the prefix cache; none: all of the prompt
	hits     []string // prompt tokens found there

	// Histograms in seconds: _sum and _count.
	ttft, tpot, itl, e2el []string
	// Where there is no histogram, a pair of counters: seconds and tokens.
	prefillSeconds, decodeSeconds string

	preemptions             []string
	drafts, drafted, accept []string // drafts made, tokens drafted, tokens accepted
	acceptLength            string   // a gauge, where there are no counters
}

// engines are the names of vLLM 0.32.0 (vllm/v1/metrics/loggers.py and
// vllm/v1/spec_decode/metrics.py), of SGLang (docs/references/production_metrics
// and srt/metrics/collector.py), and of llama.cpp b1-0c1e570
// (tools/server/server-task.cpp), whose count of prompt tokens leaves the
// cached ones out. SGLang's gauge cache_hit_rate is of the last batch alone,
// and so not read.
var engines = []names{
	{
		name: "vllm", prefix: "vllm:",
		prompt: []string{"vllm:prompt_tokens_total"}, output: []string{"vllm:generation_tokens_total"},
		queries:     []string{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
		hits:        []string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
		ttft:        []string{"vllm:time_to_first_token_seconds"},
		tpot:        []string{"vllm:request_time_per_output_token_seconds"},
		itl:         []string{"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"},
		e2el:        []string{"vllm:e2e_request_latency_seconds"},
		preemptions: []string{"vllm:num_preemptions_total"},
		drafts:      []string{"vllm:spec_decode_num_drafts_total"},
		drafted:     []string{"vllm:spec_decode_num_draft_tokens_total"},
		accept:      []string{"vllm:spec_decode_num_accepted_tokens_total"},
	},
	{
		name: "sglang", prefix: "sglang:",
		prompt: []string{"sglang:prompt_tokens_total"}, output: []string{"sglang:generation_tokens_total"},
		hits:         []string{"sglang:cached_tokens_total"},
		ttft:         []string{"sglang:time_to_first_token_seconds"},
		itl:          []string{"sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"},
		e2el:         []string{"sglang:e2e_request_latency_seconds"},
		preemptions:  []string{"sglang:num_retracted_requests_total"},
		acceptLength: "sglang:spec_accept_length",
	},
	{
		name: "llama.cpp", prefix: "llamacpp:",
		prompt: []string{"llamacpp:prompt_tokens_total"}, uncached: true, output: []string{"llamacpp:tokens_predicted_total"},
		hits:           []string{"llamacpp:prompt_tokens_cached_total"},
		prefillSeconds: "llamacpp:prompt_seconds_total", decodeSeconds: "llamacpp:tokens_predicted_seconds_total",
		drafts:  []string{"llamacpp:spec_decode_num_drafts_total"},
		drafted: []string{"llamacpp:spec_decode_num_draft_tokens_total"},
		accept:  []string{"llamacpp:spec_decode_num_accepted_tokens_total"},
	},
}
