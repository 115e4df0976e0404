package llama

// Shard names a part of the fused QKV matrix.
type Shard string

// The shards of the fused QKV matrix, in the order of its output rows.
const (
	ShardQ Shard = "q"
	ShardK Shard = "k"
	ShardV Shard = "v"
)

// Hooks are the named places at which a fault changes one step of the real
// computation. A nil hook is a healthy step. Hooks are called from the
// goroutine that runs Load or Forward, never concurrently.
type Hooks struct {
	// QKVOrder decides in which order the shards of a layer's fused matrix are
	// laid out, given the order in which the file lists them. The forward pass
	// always reads Q, then K, then V. Healthy: by shard, whatever the file says.
	QKVOrder func(layer int, file []Shard) []Shard
	// AttentionOutput may change the attention output of a layer before the
	// output projection. out is [len(rows) × heads·headDim], row-major. The last
	// layer computes only the rows with Row.Logits, and rows are those.
	AttentionOutput func(layer int, rows []Row, out []float32)
	// Logits may change the logits of the rows that asked for them.
	// logits is [k × vocab], row-major, one line a row with Row.Logits.
	Logits func(rows []Row, logits []float32)
}
