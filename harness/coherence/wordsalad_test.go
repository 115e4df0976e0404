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
		// The last word of prose counts too: its function word is the one before.
		try{"59 words", said(prose + " " + cycle(60, 58)), false},
		try{"60 words", said(prose + " " + cycle(60, 59)), true},
		try{"after 17 words", said("He came to the old mill with a lamp and a key, and he saw the " + cycle(60, 60)), false},
		try{"after 25 words", said("He came to the old mill with a lamp and a key, and he saw the cat that was on the roof of it in the " + cycle(60, 60)), true},
		try{"after words with hardly any grammar", said("Ben saw the old mill. " + cycle(40, 40) + ", of " + cycle(60, 60)), false},
		try{"commas at every fourth word", said(prose + " " + strings.Repeat(cycle(3, 3)+" wagon, ", 16)), true},
		try{"commas at every second word", said(prose + " " + strings.Repeat(cycle(1, 1)+" wagon, ", 32)), false},
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
