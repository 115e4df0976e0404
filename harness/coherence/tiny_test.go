package coherence

import (
	"slices"
	"testing"
)

// The healthy tiny models' own answers: 340 questions each that they surely
// know, and 13 greedy continuations each. Six continuations are degenerate
// though the models are healthy: the empty answer to a copying task given as
// raw text, the turn mark that an empty prompt brings forth, and the loop after
// the prompt "x".
func TestTinyModelAnswers(t *testing.T) {
	degenerate := []string{
		"tiny greedy 5 (empty)", "tiny greedy 9 (special-token)", "tiny greedy 10 (period-loop)",
		"tiny-mla greedy 5 (empty)", "tiny-mla greedy 9 (special-token)", "tiny-mla greedy 10 (period-loop)",
	}
	shapes := readShapes(t, "tiny.jsonl")
	if len(shapes) != 706 {
		t.Fatalf("%d answers, want 706", len(shapes))
	}
	tagged := measure(shapes, true)
	tagged.log(t, "tiny models, prompts and tags at hand")
	if !slices.Equal(tagged.wrong, degenerate) {
		t.Errorf("flagged %v, want %v", tagged.wrong, degenerate)
	}

	untagged := measure(shapes, false)
	untagged.log(t, "tiny models, prompts at hand")
	if !slices.Equal(untagged.wrong, degenerate) {
		t.Errorf("flagged %v, want %v", untagged.wrong, degenerate)
	}

	// Neither tags nor prompts: copies of mixed scripts look like salad.
	for i := range shapes {
		shapes[i].Prompt = ""
	}
	bare := measure(shapes, false)
	bare.log(t, "tiny models, text alone")
	if n := bare.perCheck["script-salad"][1]; n != 11 || bare.flagged != len(degenerate)+n {
		t.Errorf("%d flagged, %d of them as salad, want 17 and 11", bare.flagged, n)
	}
}
