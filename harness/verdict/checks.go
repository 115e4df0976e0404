package verdict

import "strings"

// Area is a group of checks, and a suite.
type Area string

// The areas, in the order in which reports show them.
const (
	Server     Area = "server"
	Coherence  Area = "coherence"
	Tokens     Area = "tokens"
	Anchors    Area = "anchors"
	Context    Area = "context"
	Throughput Area = "throughput"
)

// Areas lists the areas in report order.
func Areas() []Area {
	return []Area{Server, Coherence, Tokens, Anchors, Context, Throughput}
}

// Required lists the areas without which no run is a pass: a run in which one
// of them judged nothing is inconclusive.
func Required() []Area { return []Area{Coherence, Tokens, Anchors, Context} }

// The names of the checks, a closed vocabulary. A coherence finding carries
// the name of the text check behind the area's prefix ("coherence.char-run").
const (
	ServerDied       = "server.died"            // every generation failed, or the server went away
	ServerFailures   = "server.failures"        // some requests failed
	ServerNaN        = "server.nan-logits"      // log-probabilities that are not numbers
	ServerCapability = "server.capability-lost" // the baseline's server could, this one cannot
	ServerRateLimit  = "server.rate-limited"    // 429: the load was too much for this key
	ServerCoverage   = "server.coverage"        // planned requests without an exchange
	ServerHarness    = "server.harness-error"   // Touchstone itself failed

	CoherenceText   = "coherence.text"   // no text check fired
	CoherenceMostly = "coherence.mostly" // most answers are degenerate

	TokensCompletion = "tokens.completion-count" // usage = ids = log-probability entries
	TokensPrompt     = "tokens.prompt-count"     // usage = ids = /tokenize
	TokensBaseline   = "tokens.prompt-baseline"  // the prompt's ids are the baseline's
	TokensFinish     = "tokens.finish"           // finish reason, length and limits agree
	TokensText       = "tokens.text"             // the tokens spell the text

	AnchorsAnswers    = "anchors.answers"    // known answers and copies, as a group
	AnchorsRegression = "anchors.regression" // one answer that was right in the baseline

	ContextInsensitive = "context.insensitive" // different beginnings, same next-token distribution
	ContextWeak        = "context.weak"        // different beginnings move the distribution less than they should
	ContextConstant    = "context.constant"    // not even the last token changes the distribution
	ContextSameAnswer  = "context.same-answer" // different questions, one answer

	ThroughputRequests  = "throughput.requests"    // the requests of the load that failed
	ThroughputCoherence = "throughput.coherence"   // the load's own outputs, text-checked
	ThroughputSame      = "throughput.same-answer" // different prompts of the load, one answer
	ThroughputNonces    = "throughput.nonces"      // what another request of the load was sent, in a reply
	ThroughputRecorded  = "throughput.recorded"    // the numbers, recorded and not yet judged
)

// AreaOf returns the area of a check.
func AreaOf(check string) Area {
	area, _, _ := strings.Cut(check, ".")
	return Area(area)
}
