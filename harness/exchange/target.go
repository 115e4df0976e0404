package exchange

// State says whether a server can do something.
type State string

// What asking for a capability showed.
const (
	Unknown State = ""        // not asked
	Present State = "present" // asked, and the answer was right
	Absent  State = "absent"  // refused, or silently not there
	Lies    State = "lies"    // accepted, and the answer was wrong
)

// Capability names something that some servers can do and others cannot.
type Capability string

// The capabilities that checks depend on.
const (
	CapTokenIDs       Capability = "token-ids"        // return_token_ids, or ids in log-probability entries
	CapPromptIDs      Capability = "prompt-token-ids" // ids of the prompt come back
	CapTokenPrompt    Capability = "token-id-prompts" // /v1/completions takes token ids
	CapLogprobs       Capability = "logprobs"
	CapPromptLogprobs Capability = "prompt-logprobs"
	CapTokenize       Capability = "tokenize"
	CapStream         Capability = "stream"
	CapStreamUsage    Capability = "stream-usage"
	CapCachedTokens   Capability = "cached-tokens"
	CapIgnoreEOS      Capability = "ignore-eos"
	CapChat           Capability = "chat"
	CapCompletions    Capability = "completions"

	// Asked for by doctor alone.
	CapTopLogprobs Capability = "top-20-logprobs" // 20 alternatives a token
	CapCacheBypass Capability = "cache-bypass"    // cache_salt or cache_prompt keeps the prefix cache out
	CapCacheReset  Capability = "cache-reset"     // the prefix cache can be emptied
	CapMinTokens   Capability = "min-tokens"
	CapSeed        Capability = "seed" // the same seed gives the same sampled text
	CapMetrics     Capability = "metrics"
)

// Target is what a server is and can do, as found by asking it. It is saved
// with every run and baseline.
type Target struct {
	Engine      string `json:"engine"` // vllm, sglang, llama.cpp, touchstone, generic
	Version     string `json:"version,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Model       string `json:"model"`
	VocabSize   int    `json:"vocab_size,omitempty"`    // 0: not told
	MaxModelLen int    `json:"max_model_len,omitempty"` // tokens; 0: not told
	// TokenizeField is how /tokenize wants its text: "prompt" as in vLLM, or
	// "content" as in llama.cpp.
	TokenizeField string `json:"tokenize_field,omitempty"`
	// NaNLogits says that a request which is answered fails as soon as it asks
	// for log-probabilities, because they are not numbers.
	NaNLogits bool `json:"nan_logits,omitempty"`
	// Neutral are the fields that switch hidden sampling defaults off, as far
	// as this server takes them.
	Neutral      map[string]any       `json:"neutral,omitempty"`
	Capabilities map[Capability]State `json:"capabilities"`
}

// Can says whether the capability was seen at work.
func (t Target) Can(c Capability) bool { return t.Capabilities[c] == Present }

// Capabilities lists all of them, in the order in which they are asked for.
func Capabilities() []Capability {
	return []Capability{
		CapChat, CapCompletions, CapTokenIDs, CapPromptIDs, CapLogprobs,
		CapTokenPrompt, CapStream, CapStreamUsage, CapIgnoreEOS, CapCachedTokens, CapTokenize,
	}
}

// AllCapabilities lists those that doctor asks for too.
func AllCapabilities() []Capability {
	return append(Capabilities(), CapTopLogprobs, CapPromptLogprobs, CapMinTokens, CapSeed, CapCacheBypass, CapCacheReset, CapMetrics)
}
