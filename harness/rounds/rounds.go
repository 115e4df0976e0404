// Package rounds compares two builds by their rounds: how much faster or
// slower one is, with an interval, a verdict per metric, and what this run
// could have seen. It is pure: it judges a saved run as it judges a live one.
package rounds

import "time"

// Side is the build that a round was run on.
type Side string

// The two sides of a comparison.
const (
	A Side = "a" // the baseline
	B Side = "b" // the candidate
)

// Metric is a number of a round that two builds are compared by.
type Metric struct {
	Name   string `json:"name"` // its name in JSON: output_tokens_per_s
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	Higher bool   `json:"higher_is_better"`
}

// Round is one pass of one workload over one build: the unit of replication.
// Requests inside a round are only averaged, because they share its luck: a
// test over requests of one run called up to 60 % of equal builds different
// (mui/mui-public#1712).
type Round struct {
	Side     Side      `json:"side"`
	Build    string    `json:"build"` // the name that the user gave it
	Workload string    `json:"workload"`
	Index    int       `json:"index"`  // order in time over the whole comparison, from 1
	Pair     int       `json:"pair"`   // its partner has the same; 0: none, the rounds were not alternated
	Launch   int       `json:"launch"` // which start of the build it ran on, from 1
	Start    time.Time `json:"start"`
	Seconds  float64   `json:"seconds"`

	Values  map[string]float64 `json:"values"`            // by Metric.Name; absent: not measured
	Samples map[string]int     `json:"samples,omitempty"` // values behind each number, where it is a quantile

	// What must not differ between the builds. Nil: not told.
	Requests    int            `json:"requests"`
	Successes   int            `json:"successes"`
	PromptMean  *float64       `json:"prompt_tokens_mean"`
	OutputMean  *float64       `json:"output_tokens_mean"`
	CachedShare *float64       `json:"cached_share"`
	Digest      string         `json:"digest,omitempty"`    // of its measurements; the same twice is one round counted twice
	Void        []string       `json:"void,omitempty"`      // why its numbers mean nothing; empty: valid
	Incorrect   []string       `json:"incorrect,omitempty"` // checks of its own outputs that failed: this build is wrong, not just unmeasured
	Facts       map[string]any `json:"facts,omitempty"`     // of the machine, while it ran
}
