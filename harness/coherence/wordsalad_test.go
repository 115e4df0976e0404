package coherence

import (
	"strings"
	"testing"
)

func TestWordSalad(t *testing.T) {
	const loose = "dealer lamp pet window orange drum needle harbour winter copper velvet falcon market ladder basket meadow kettle bridge candle puppy " +
		"garlic school sunset anchor timber walnut pocket mirror thunder canyon"
	salad := prose + " " + loose + " " + loose
	list := prose + " " + strings.ReplaceAll(loose+" "+loose, " ", ", ")
	tryCheck(t, "word-salad",
		try{"after good text", said(salad), true},
		try{"half as long", said(prose + " " + loose), false},
		try{"nothing else: perhaps another language", said(loose + " " + loose), false},
		try{"a list", said(list), false},
		try{"lines", said(prose + "\n" + strings.ReplaceAll(loose+" "+loose, " ", "\n")), false},
		try{"German", said("Die Wärterin zählt vor dem Abendessen die Schiffe, die mit Holz aus dem Norden kommen, und wenn der Nebel aufzieht, zündet sie die Lampe an. " +
			strings.Repeat("Ihr Bruder wohnt im Dorf und fragt nach dem Wetter, das sich hier schnell ändert. ", 5)), false},
		try{"another language, tagged", Text{Text: salad, Tags: []string{"language:fi"}}, false},
		try{"a listed language, tagged", Text{Text: salad, Tags: []string{"language:de"}}, true},
		try{"another script", said(prose + strings.Repeat(" зажигает лампу ждёт гудок", 20)), false},
		try{"the baseline does it too", beside(salad, salad), false},
	)
	tryTags(t, "word-salad", salad, "language:fi")
}
