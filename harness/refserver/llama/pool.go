package llama

// A Pool is the paged KV cache of one engine, with the scratch memory of its
// steps. One step at a time may use it.
type Pool struct {
	config Config
	blocks int
	// data is [blocks × layers × kvHeads × {K,V} × BlockSize × headDim]: what one
	// attention task reads of a block is contiguous, and so is a whole block.
	data []float32
	step step
	crew crew
}

// NewPool makes a cache of that many blocks of BlockSize tokens for m. A block
// takes Layers · 2 · KVWidth · BlockSize float32 numbers: 2 KiB a token on the
// tiny model. The system gives the memory when it is first written.
func NewPool(m *Model, blocks int) *Pool {
	if blocks <= 0 {
		panic("llama: a pool needs at least one block")
	}
	p := &Pool{config: m.config, blocks: blocks}
	p.data = make([]float32, blocks*p.blockLen())
	wantHugePages(p.data)
	p.crew.init()
	p.step.init(p)
	return p
}

// Blocks is the number of blocks in the pool.
func (p *Pool) Blocks() int { return p.blocks }

// BlockBytes is the memory that one block takes.
func (p *Pool) BlockBytes() int { return 4 * p.blockLen() }

// CopyBlock copies all keys and values of block src into block dst.
func (p *Pool) CopyBlock(dst, src int32) {
	n := p.blockLen()
	copy(p.data[int(dst)*n:][:n], p.data[int(src)*n:][:n])
}

func (p *Pool) blockLen() int { return p.config.Layers * 2 * p.headLen() * p.config.KVHeads }

// headLen is the size of one head's keys, or values, in one block.
func (p *Pool) headLen() int { return BlockSize * p.config.HeadDim }

// keys returns the keys of one head in one block, [BlockSize × headDim].
func (p *Pool) keys(block int32, layer, head int) []float32 {
	n := p.headLen()
	return p.data[int(block)*p.blockLen()+(layer*p.config.KVHeads+head)*2*n:][:n]
}

// values returns the values of one head in one block, [BlockSize × headDim].
func (p *Pool) values(block int32, layer, head int) []float32 {
	n := p.headLen()
	return p.data[int(block)*p.blockLen()+((layer*p.config.KVHeads+head)*2+1)*n:][:n]
}
