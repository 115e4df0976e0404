package coherence

import (
	"strings"
	"testing"
)

func TestGluedWords(t *testing.T) {
	const (
		glued = "Thedragonqueenrulestheislandandhercrewsailsatdawnwithoutanymapsorlanterns"
		law   = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" // 63 letters
		short = "thekeepercountsshipsbeforesupperandthenwaits"                    // 44
	)
	tryCheck(t, "glued-words",
		try{"a sentence", said("So: " + glued), true},
		try{"German law", said("Das " + law + " gilt."), false},
		try{"Thai", said("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและมีแม่น้ำเจ้าพระยาไหลผ่านกลางเมืองใหญ่"), false},
		try{"laughter", said(strings.Repeat("ha", 40)), false},
		try{"DNA", said(strings.Repeat("atggcgtacgtt", 6)), false},
		try{"base64", said("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkM9QDwADhgGAWjR9awAAAABJRU5ErkJggg"), false},
		try{"44 letters, alone", said(short), false},
		try{"44 letters, beside a baseline", beside(short, prose), true},
		try{"63 letters in German, beside a baseline", Text{Text: law, Baseline: ptr("Ein Gesetz."), Tags: []string{"language:de"}}, false},
		try{"40 letters, beside a baseline", beside(short[:40], prose), false},
		try{"41 letters, beside a baseline", beside(short[:41], prose), true},
		try{"70 letters", said(glued[:70]), false},
		try{"71 letters", said(glued[:71]), true},
		try{"the baseline does it too", beside(glued, glued), false},
	)
	tryTags(t, "glued-words", glued)
}
