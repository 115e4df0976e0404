package sched

import (
	"crypto/sha256"
	"encoding/binary"

	"touchstone/harness/refserver/llama"
)

// key names the contents of a full block: the hash of its tokens and of the
// key of the block before it, hence of the whole prefix. SHA-256, as in vLLM: a
// collision would put another prompt's keys and values into an answer, silently.
type key [sha256.Size]byte

// rootKey is what the first block of a sequence is chained to.
func rootKey(salt string) key {
	if salt == "" {
		return key{}
	}
	return sha256.Sum256([]byte("salt:" + salt))
}

// chain returns the key of the block of tokens that follows parent.
func chain(parent key, tokens []int32) key {
	var buf [sha256.Size + 4*llama.BlockSize]byte
	b := append(buf[:0], parent[:]...)
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return sha256.Sum256(b)
}

// blocks is the pool's book-keeping: who uses a block, and which unused ones
// still hold a prefix that somebody may ask for again.
type blocks struct {
	all   []block // the last one is the free list's sentinel
	index map[key]int32
	free  int
}

type block struct {
	refs       int32
	cached     bool // in the index, under key
	key        key
	prev, next int32 // neighbours in the free list while refs is 0
}

func newBlocks(n int) *blocks {
	b := &blocks{all: make([]block, n+1), index: make(map[key]int32)}
	s := int32(n)
	b.all[s] = block{refs: 1, prev: s, next: s}
	for i := range n {
		b.insert(int32(i), b.all[s].prev)
	}
	return b
}

func (b *blocks) sentinel() int32 { return int32(len(b.all) - 1) }

// insert puts block id into the free list, after block prev.
func (b *blocks) insert(id, prev int32) {
	next := b.all[prev].next
	b.all[id].prev, b.all[id].next = prev, next
	b.all[prev].next, b.all[next].prev = id, id
	b.free++
}

func (b *blocks) unlink(id int32) {
	p, n := b.all[id].prev, b.all[id].next
	b.all[p].next, b.all[n].prev = n, p
	b.free--
}

// used is the number of blocks that sequences hold.
func (b *blocks) used() int { return len(b.all) - 1 - b.free }

// lookup returns the blocks of the longest cached prefix of keys, and how many
// of them stand in the free list.
func (b *blocks) lookup(keys []key) (hit []int32, idle int) {
	for _, k := range keys {
		id, ok := b.index[k]
		if !ok {
			break
		}
		if b.all[id].refs == 0 {
			idle++
		}
		hit = append(hit, id)
	}
	return hit, idle
}

// share adds a user to a cached block.
func (b *blocks) share(id int32) {
	if b.all[id].refs == 0 {
		b.unlink(id)
	}
	b.all[id].refs++
}

// alloc takes the block that was unused for longest, and forgets what it held.
func (b *blocks) alloc() (int32, bool) {
	if b.free == 0 {
		return 0, false
	}
	id := b.all[b.sentinel()].next
	b.unlink(id)
	b.evict(id)
	b.all[id].refs = 1
	return id, true
}

func (b *blocks) evict(id int32) {
	if blk := &b.all[id]; blk.cached {
		delete(b.index, blk.key)
		blk.cached = false
	}
}

// publish makes a block whose keys and values are computed findable. When
// another block has the same contents already, that one stays.
func (b *blocks) publish(id int32, k key) {
	if _, ok := b.index[k]; ok || b.all[id].cached {
		return
	}
	b.index[k] = id
	b.all[id].key, b.all[id].cached = k, true
}

// release gives a sequence's blocks back, its last block first: of a cached
// prefix the end is evicted before the beginning, which more prompts share.
// Blocks that hold nothing reusable are taken first.
func (b *blocks) release(ids []int32) {
	for i := len(ids) - 1; i >= 0; i-- {
		id := ids[i]
		blk := &b.all[id]
		if blk.refs--; blk.refs > 0 {
			continue
		}
		if blk.cached {
			b.insert(id, b.all[b.sentinel()].prev)
		} else {
			b.insert(id, b.sentinel())
		}
	}
}

// reset forgets all cached prefixes. It refuses while a block is in use.
func (b *blocks) reset() bool {
	if b.used() > 0 {
		return false
	}
	for id := range b.all {
		b.evict(int32(id))
	}
	return true
}
