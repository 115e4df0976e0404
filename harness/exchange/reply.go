package exchange

import "time"

// Reply is what an exchange's raw bytes say, decoded. Pointers are nil where
// the server said nothing: a missing count is not 0 and a null log-probability
// is not 0 (which would be a probability of one).
type Reply struct {
	Text           string     // content; concatenated deltas when streamed
	Reasoning      string     // reasoning or reasoning_content
	TokenIDs       []int      // generated token ids, when the server tells them
	PromptTokenIDs []int      // ids of the prompt, when the server tells them
	Tokens         []Token    // generated tokens with log-probabilities, when asked for
	Prompt         []Position // prompt_logprobs: one entry a prompt token, the first empty
	FinishReason   string
	Usage          *Usage
	Model          string
	Fingerprint    string
	Chunks         []Chunk // streamed only: one entry a data line that carried text or tokens
	Choices        int     // distinct choice indices seen
	Done           bool    // streamed: [DONE] was seen; else the JSON object was complete
	// Count and TokenList are the answer of /tokenize.
	Count     *int
	TokenList []int
}

// Token is one generated token.
type Token struct {
	ID      *int
	Text    string
	Bytes   []byte
	Logprob *float64 // natural logarithm; nil for null or NaN
	// Censored: the server wrote its sentinel for minus infinity (-9999,
	// -3.4028235e38), and Logprob is nil. The token had a probability below
	// what can be told, which is not the same as a NaN.
	Censored bool
	Top      []Alternative // as the server ordered them; maps: likely ones first
}

// Alternative is a candidate for a position. ID is nil where the server names
// tokens by text only.
type Alternative struct {
	ID       *int
	Text     string
	Logprob  *float64
	Censored bool // as in Token
}

// Position is the server's view of one prompt token.
type Position struct {
	ID       int // the prompt's token at this position; -1: not told
	Logprob  *float64
	Censored bool          // as in Token
	Top      []Alternative // likely ones first, the prompt's own token among them
}

// Usage is the server's own count.
type Usage struct {
	Prompt     int
	Completion int
	Total      int
	Cached     *int // prompt_tokens_details.cached_tokens
}

// Chunk is one streamed event that carried something.
type Chunk struct {
	At        time.Duration // since Timeline.Start: when its last byte was read
	Text      string
	Reasoning string
	TokenIDs  []int
	Usage     *Usage // continuous_usage_stats
}

// Answer returns what a reader would see: the reasoning, then the text.
func (r *Reply) Answer() string {
	if r.Reasoning == "" {
		return r.Text
	}
	if r.Text == "" {
		return r.Reasoning
	}
	return r.Reasoning + "\n" + r.Text
}
