package llama

// BlockSize is the number of tokens in one block of the paged KV cache, as in
// vLLM's default.
const BlockSize = 16

// Seq is the part of a sequence that the model needs: which blocks of the
// pool hold its keys and values. Token t lives in Blocks[t/BlockSize], at
// offset t%BlockSize. The scheduler owns it.
type Seq struct {
	ID     uint64
	Blocks []int32
}

// Row is one token to be computed in a step: a prompt token of a prefill
// chunk, or the newest token of a decoding sequence. Rows of one sequence
// stand in ascending position; all their keys and values are written before
// any of them attends.
type Row struct {
	Seq    *Seq
	Token  int32
	Pos    int
	Logits bool // compute the next-token logits of this row
}
