package token

import "strings"

// pair is two neighbouring tokens; merge is what they become, and the place of
// that merge in the file's list: the lowest is done first.
type (
	pair  struct{ left, right int32 }
	merge struct{ rank, id int32 }
)

// Encode returns the token ids of a text. addSpecial puts BOS before and EOS
// after, where the file's rules say so. parseSpecial lets names of special
// tokens in the text stand for those tokens (vLLM always does); user-defined
// tokens are matched in any case. Bytes that are no UTF-8 count as U+FFFD, and
// a byte that has no token in the vocabulary leaves none, as in llama.cpp.
func (t *Tokenizer) Encode(text string, addSpecial, parseSpecial bool) []int {
	ids := make([]int, 0, len(text)/3+2)
	if addSpecial && t.addBOS {
		ids = append(ids, t.bos)
	}
	text = lossy(text)
	start := 0
	for i := 0; i < len(text); {
		id, ok := t.specialAt(text[i:], parseSpecial)
		if !ok {
			i++
			continue
		}
		ids = append(t.appendText(ids, text[start:i]), id)
		i += len(t.texts[id])
		start = i
	}
	ids = t.appendText(ids, text[start:])
	if addSpecial && t.addEOS {
		ids = append(ids, t.eos)
	}
	return ids
}

// specialAt finds the longest special token that text begins with.
func (t *Tokenizer) specialAt(text string, parseSpecial bool) (int, bool) {
	for _, id := range t.specials[text[0]] {
		if (parseSpecial || t.kinds[id] == kindUserDefined) && strings.HasPrefix(text, t.texts[id]) {
			return id, true
		}
	}
	return 0, false
}

func (t *Tokenizer) appendText(ids []int, text string) []int {
	if text == "" {
		return ids
	}
	var b merger
	for _, word := range t.pre.split([]rune(text)) {
		ids = b.appendWord(t, ids, string(word))
	}
	return ids
}

// merger runs the merges over one word after the other; it keeps its memory.
type merger struct {
	symbols []symbol
	queue   candidates
}

// symbol is a node of the linked list of what the word consists of. prev and
// next are indices, -1 at the ends. A symbol merged into its left neighbour
// has id -1.
type symbol struct{ id, prev, next int32 }

// candidate is a merge that was possible when it was queued.
type candidate struct {
	merge
	at   int32 // index of the left symbol
	pair pair
}

// candidates is a binary heap by rank, then from left to right. container/heap
// was rejected: it boxes every candidate, which made encoding a third slower.
type candidates []candidate

func (q candidates) less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].at < q[j].at
}

func (q *candidates) push(c candidate) {
	h := append(*q, c)
	*q = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *candidates) pop() candidate {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return top
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// appendWord merges a word of n bytes in O(n log n): a long word without
// spaces is nothing that a client must be able to stall the server with.
func (b *merger) appendWord(t *Tokenizer, ids []int, word string) []int {
	if id, ok := t.words[word]; ok {
		return append(ids, id)
	}
	b.symbols, b.queue = b.symbols[:0], b.queue[:0]
	for i := range len(word) {
		if id := t.byteIDs[word[i]]; id >= 0 {
			n := int32(len(b.symbols))
			b.symbols = append(b.symbols, symbol{int32(id), n - 1, n + 1})
		}
	}
	if len(b.symbols) == 0 {
		return ids
	}
	b.symbols[len(b.symbols)-1].next = -1
	for i := range b.symbols {
		b.consider(t, int32(i))
	}
	for len(b.queue) > 0 {
		c := b.queue.pop()
		left := &b.symbols[c.at]
		if left.id != c.pair.left || left.next < 0 || b.symbols[left.next].id != c.pair.right {
			continue // one of the two has been merged since
		}
		right := &b.symbols[left.next]
		left.id, right.id = c.id, -1
		left.next = right.next
		if right.next >= 0 {
			b.symbols[right.next].prev = c.at
		}
		b.consider(t, c.at)
		if left.prev >= 0 {
			b.consider(t, left.prev)
		}
	}
	for i := int32(0); i >= 0; i = b.symbols[i].next {
		ids = append(ids, int(b.symbols[i].id))
	}
	return ids
}

// consider queues the merge of the symbol at i with its right neighbour.
func (b *merger) consider(t *Tokenizer, i int32) {
	s := b.symbols[i]
	if s.next < 0 {
		return
	}
	p := pair{s.id, b.symbols[s.next].id}
	if m, ok := t.merges[p]; ok {
		b.queue.push(candidate{m, i, p})
	}
}
