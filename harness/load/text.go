package load

import (
	"math/rand/v2"
	"strings"

	"touchstone/harness/fixture"
)

// sentences are what prompts of a given length are filled with. They are plain
// English: random tokens understate what speculative decoding gains
// (vllm#52536), and repeated ones skew how experts are chosen.
var sentences = strings.Split(strings.TrimSpace(`
A harbour lies at the mouth of the river, and small boats carry grain and wool to the town.
The baker opens the shop at six, and by noon most of the bread is sold.
A path leads from the mill to the bridge, past an orchard with old apple trees.
In winter the lake freezes, and children skate on it until the lamps are lit.
The library keeps its oldest books in a cool room below the street.
Every spring the farmers mend the stone walls that the frost has moved.
A train crosses the valley twice a day and stops where the road meets the line.
The clock on the tower is four minutes slow, and nobody minds.
Rain fell for three days, so the market was held under the roof of the old hall.
The carpenter planes each board by hand and lets the wood dry for a year.
Two rivers join below the hill, one clear and one brown with clay.
The school garden has beans, onions and a bed of herbs near the gate.
At night the lighthouse can be seen from the islands in the west.
The museum shows tools, maps and a boat that was found in the sand.
Bees visit the lime trees in June, and the honey tastes of them.
A narrow stair leads up to the roof, from where one sees the whole harbour.
The ferry leaves when it is full, which on Sundays takes an hour.
Wool is washed in the stream, carded in the barn and spun in the kitchen.
The post arrives late when there is snow on the pass.
Old nets hang along the quay, and cats sleep on them in the sun.
The doctor rides a bicycle and knows every dog on the way.
A mason cut the date over the door more than two hundred years ago.
The orchestra meets on Thursdays in the room above the bakery.
After the harvest the fields are ploughed and the geese are let in.
`), "\n")

// The streams of random numbers of lengths and texts, apart from that of the
// nonces.
const (
	lengthStream = 0x1e
	textStream   = 0x7e
)

// wordsAToken is how many English words a token is, about, where no tokenizer
// can be asked: four characters a token, five and a blank a word.
const wordsAToken = 0.75

// Size is how much filler a prompt gets: the shared prefix in words, its own
// part in words, and whole tokens as single words at its end.
type Size struct {
	Shared, Words int
	Pad           []string
}

// Sized is a prompt of a workload before its filler is in.
type Sized struct {
	Length fixture.Length // what it shall come to
	nonce  string
	prompt string
	group  string // the nonce of its shared prefix
	seed   uint64
	shared uint64
}

// Text returns the prompt with so much filler. The nonce comes before the
// filler, so that a prefix cache finds nothing in it; a shared prefix comes
// before the nonce.
func (s Sized) Text(z Size) string {
	var b strings.Builder
	if z.Shared > 0 {
		b.WriteString("Collection " + s.group + ". " + filler(s.shared, z.Shared) + "\n\n")
	}
	b.WriteString("Note " + s.nonce + ".")
	if z.Words > 0 {
		b.WriteString(" " + filler(s.seed, z.Words))
	}
	for _, p := range z.Pad {
		b.WriteString(" " + p)
	}
	b.WriteString("\n\n" + s.prompt)
	return b.String()
}

// About is the size without a tokenizer.
func (s Sized) About(w fixture.Workload) Size {
	shared := int(wordsAToken * float64(w.SharedTokens))
	bare := len(strings.Fields(s.Text(Size{})))
	return Size{Shared: shared, Words: max(0, int(wordsAToken*float64(s.Length.PromptTokens))-bare-shared)}
}

// filler returns so many words of the sentences, in an order of its own.
func filler(seed uint64, words int) string {
	rng := rand.New(rand.NewPCG(seed, textStream))
	var out []string
	for len(out) < words {
		for _, i := range rng.Perm(len(sentences)) {
			out = append(out, strings.Fields(sentences[i])...)
		}
	}
	return strings.Join(out[:words], " ")
}

// kinds returns the kind of each of n requests: each block of the sum of the
// weights holds every kind as often as it weighs, in an order of its own.
// Drawing each request alone would give two builds different work.
func kinds(w fixture.Workload, n int) []fixture.Length {
	rng := rand.New(rand.NewPCG(uint64(w.Seed), lengthStream))
	var block []fixture.Length
	for _, k := range w.Kinds() {
		for range k.Weight {
			block = append(block, k)
		}
	}
	out := make([]fixture.Length, 0, n)
	for len(out) < n {
		for _, i := range rng.Perm(len(block)) {
			out = append(out, block[i])
		}
	}
	return out[:n]
}
