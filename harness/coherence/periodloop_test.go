package coherence

import (
	"strings"
	"testing"
)

func TestPeriodLoop(t *testing.T) {
	loop := "The password of N" + strings.Repeat(" + 9", 12)
	tryCheck(t, "period-loop",
		try{"a real fault of vLLM", said(loop), true},
		try{"cut in mid-period", said(prose + strings.Repeat(" dealer lot pet", 9) + " dea"), true},
		try{"an end token after it", said(strings.Repeat("of the ", 12) + "</s>"), true},
		try{"good text after it", said(strings.Repeat("of the ", 12) + prose), true},
		try{"a short one, good text after it", said(strings.Repeat("of the ", 8) + prose), false},
		try{"five repetitions", said("So. " + strings.Repeat("the river runs ", 5)), false},
		try{"laughter", said("hahahahahahahahaha, that is a good one"), false},
		try{"leaders", said("Contents " + strings.Repeat(". ", 60)), false},
		try{"a table's ruler", said("|a|\n" + strings.Repeat("|---", 20) + "|"), false},
		try{"counting", said("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"), false},
		try{"the baseline loops too", beside(loop, strings.Repeat("zebra hen ", 20)), false},
		try{"the baseline does not", beside(loop, "The password of Ada is harbour-42."), true},
	)
	tryTags(t, "period-loop", loop)
	f := find(Run(said("é "+strings.Repeat("0 1 ", 20))), "period-loop")
	// The blank before the loop and the one after it agree, so the loop begins
	// there; blanks at the end are not counted: 80 characters in periods of 4.
	if f == nil || f.Offset != 2 || f.Measured != 20 {
		t.Errorf("got %+v, want 20 repetitions from byte 2", f)
	}
}

// The grid of loops must not miss the shortest loop, wherever it starts.
func TestLoopsAtEveryOffset(t *testing.T) {
	const unit = "abcdefg"
	for lead := range 80 {
		d := newDoc(said(prose[:lead] + "#" + strings.Repeat(unit, 6)))
		tail, _ := d.loops()
		if tail.period != len(unit) || tail.length != 6*len(unit) || tail.start != lead+1 {
			t.Fatalf("after %d characters: got %+v", lead, tail)
		}
	}
}
