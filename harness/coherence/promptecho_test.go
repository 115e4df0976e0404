package coherence

import "testing"

func TestPromptEcho(t *testing.T) {
	const (
		long  = "The river runs past the old mill. The password of Ada is harbour-42. Green hills rise behind the town. What is the password of Ada?"
		short = "What is the capital of Norway, and since when?" // 46 characters
	)
	ask := func(prompt, text string, baseline *string, tags ...string) Text {
		return Text{Prompt: prompt, Text: text, Baseline: baseline, Tags: tags}
	}
	tryCheck(t, "prompt-echo",
		try{"the whole prompt", ask(long, "\n"+long+" harbour-42", nil), true},
		try{"an answer", ask(long, "The password of Ada is harbour-42.", nil), false},
		try{"a short question again", ask(short, short+" Oslo.", nil), false},
		try{"the baseline does not", ask(short, short+" Oslo.", ptr("Oslo.")), true},
		try{"the baseline does", ask(short, short+" Oslo.", ptr(short)), false},
		try{"99 characters", ask(long[:99], long, nil), false},
		try{"100 characters", ask(long[:100], long, nil), true},
		try{"39 characters, beside a baseline", ask(short[:39], short, ptr("Oslo.")), false},
		try{"40 characters, beside a baseline", ask(short[:40], short, ptr("Oslo.")), true},
		try{"asked to repeat", ask(long, long, nil, "repeat"), false},
		try{"tagged list", ask(long, long, nil, "list"), true},
		try{"no prompt", said(long), false},
	)
}
