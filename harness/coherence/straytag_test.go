package coherence

import (
	"slices"
	"testing"
)

func TestStrayTag(t *testing.T) {
	const lost = "The train leaves the home page.</p>\nwalcon."
	tryCheck(t, "stray-tag",
		try{"a real fault of vLLM", beside(lost, "The capital of Norway is Oslo."), true},
		try{"alone", said(lost), false},
		try{"opened", beside("<p class=x>The train.</p>", "Oslo."), false},
		try{"opened in the prompt", Text{Text: lost, Prompt: "Go on: <P>The", Baseline: ptr("Oslo.")}, false},
		try{"quoted", beside("Close it with `</p>`.", "Oslo."), false},
		try{"thinking", beside("So it is Oslo.\n</think>\nOslo.", "Oslo."), false},
		try{"the baseline does it too", beside(lost, "Oslo</div>"), false},
	)
	for _, tag := range everyTag() {
		f := find(Run(Text{Text: lost, Baseline: ptr("Oslo."), Tags: []string{string(tag)}}), "stray-tag")
		if silent := slices.Contains(strayTag.Exempt, tag); (f == nil) != silent {
			t.Errorf("with the tag %s: silent %v, want %v", tag, f == nil, silent)
		}
	}
}
