package fit

import (
	"context"
	"strings"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load"
)

// nobody must not be asked.
type nobody struct{ t *testing.T }

func (n nobody) Do(_ context.Context, r exchange.Request) *exchange.Exchange {
	n.t.Errorf("%s was sent", r.ID)
	return &exchange.Exchange{Request: r}
}

func TestFitRefusesLengthsBeyondTheContext(t *testing.T) {
	w := fixture.Workload{Name: "w", File: "w.yaml", Line: 3, Requests: 1, PromptTokens: 1000, MaxTokens: 25, Prompt: "x {{n}}"}
	_, _, err := Fit(t.Context(), nobody{t}, exchange.Target{Model: "m", MaxModelLen: 1024}, w, load.Limits{})
	if err == nil || !strings.Contains(err.Error(), "1025") || !strings.Contains(err.Error(), "1024") {
		t.Errorf("prompts of 1000 tokens and answers of 25 in a context of 1024: %v", err)
	}
}

func TestFitLeavesWorkloadsWithoutLengthsAlone(t *testing.T) {
	w := fixture.Workload{Name: "w", Requests: 1, MaxTokens: 25, Prompt: "x {{n}}"}
	got, note, err := Fit(t.Context(), nobody{t}, exchange.Target{Model: "m", MaxModelLen: 1024}, w, load.Limits{})
	if err != nil || note != "" || got.Exact != nil {
		t.Errorf("%v, note %q, lengths %v", err, note, got.Exact)
	}
}
