package llama

import (
	"fmt"
	"math"
)

// tileRows bounds the rows that go through a chain of matrices together: enough
// for a matrix that was fetched from memory to be used many times, few enough
// for all cores to end at about the same time.
const tileRows = 32

// runsPerCore is the number of runs from which cores share runs alone. With fewer
// they share the heads of a run too, so that none idles while the last run is done.
const runsPerCore = 8

// A step is one forward pass: the rows of the caller, the activations of all of
// them, and the phases that turn one into the other.
type step struct {
	pool   *Pool
	model  *Model
	rows   []Row
	picked []int  // the rows that want logits
	kept   []Row  // those rows
	runs   []span // of rows that attend together, see attention
	shares int    // tasks of a run, each with some of its heads
	layer  int
	logits []float32

	x    []float32 // [rows × width] the residual stream
	h    []float32 // [rows × width] normalised
	qkv  []float32 // [rows × (q + k + v)]
	att  []float32 // [rows × q]
	act  []float32 // [rows × ffn]
	turn []float32 // [rows × ropeDim] cosine and sine of each pair

	chain            []stage // what sweep runs
	n, tile, tiles   int     // rows in this sweep, rows in a tile, tiles
	groups           int     // of columns, when cores share them
	before, after    []stage // of attention, and all that follows it
	first, last      []stage
	byTile, byColumn func(task int, w *worker)
	byRun            func(task int, w *worker)
}

// A span is [lo, hi).
type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

// A stage computes some rows of a step, for some columns of its matrix.
type stage struct {
	run    func(rows, cols span, w *worker)
	matrix func() *matrix // nil: the stage takes rows whole
}

// columns is the number of columns that cores may share.
func (s stage) columns() int {
	if s.matrix == nil {
		return 1
	}
	return s.matrix().out
}

// panel is the number of columns to take at a time, for many rows.
func (s stage) panel() int {
	if s.matrix == nil {
		return 1
	}
	return s.matrix().panelOut()
}

// work is the number of multiply-adds a row.
func (s stage) work() int {
	if s.matrix == nil {
		return 0
	}
	m := s.matrix()
	return m.in * m.out
}

// init makes the phases once, so that a step allocates no closures.
func (st *step) init(p *Pool) {
	st.pool = p
	st.byTile, st.byColumn, st.byRun = st.runTile, st.runColumn, st.attention
	of := func(get func(*layer) *matrix) func() *matrix {
		return func() *matrix { return get(&st.model.layers[st.layer]) }
	}
	st.first = []stage{{run: st.embed}}
	st.before = []stage{
		{run: st.attentionNorm},
		{run: st.project, matrix: of(func(l *layer) *matrix { return l.qkv })},
		{run: st.rotateAndStore},
	}
	st.after = []stage{
		{run: st.addAttention, matrix: of(func(l *layer) *matrix { return l.out })},
		{run: st.ffnNorm},
		{run: st.gateUp, matrix: of(func(l *layer) *matrix { return l.gate })},
		{run: st.addDown, matrix: of(func(l *layer) *matrix { return l.down })},
	}
	st.last = []stage{
		{run: st.finalNorm},
		{run: st.toLogits, matrix: func() *matrix { return st.model.head }},
	}
}

// Forward computes one step: it writes the keys and values of all rows into
// pool, then attends, and fills logits, [k × vocab] row-major in natural-log
// units before normalisation, for the k rows that have Logits set, in their
// order. Every row's sequence must have its blocks, and all earlier positions
// must have been computed or stand in the same call. A call that breaks this
// contract panics: the scheduler is wrong, not a user.
//
// Forward may run on several pools at once, on one pool never.
func (m *Model) Forward(rows []Row, pool *Pool, logits []float32) {
	st := &pool.step
	st.model, st.rows, st.logits = m, rows, logits
	st.plan()
	st.check()
	st.size()

	st.sweep(len(rows), st.first)
	for l := range m.layers {
		st.layer = l
		st.sweep(len(st.rows), st.before)
		if l == len(m.layers)-1 {
			st.keepPicked()
		}
		pool.crew.run(len(st.runs)*st.shares, st.attentionWork(), st.byRun)
		if hook := m.hooks.AttentionOutput; hook != nil {
			hook(l, st.rows, st.att[:len(st.rows)*m.config.QWidth()])
		}
		st.sweep(len(st.rows), st.after)
	}
	st.sweep(len(st.rows), st.last)
	if hook := m.hooks.Logits; hook != nil && len(st.picked) > 0 {
		hook(rows, logits[:len(st.picked)*m.config.Vocab])
	}
	clear(st.kept) // holds no sequence beyond its step
	st.rows, st.logits = nil, nil
}

// keepPicked drops the rows that want no logits from the rest of the step. In
// the last layer they are done once their keys and values are written: nothing
// reads what their attention and feed-forward would add. A prefill of 64 tokens
// saves a fifth of its time.
func (st *step) keepPicked() {
	if len(st.picked) == len(st.rows) {
		return
	}
	c := st.model.config
	st.kept = st.kept[:0]
	for to, i := range st.picked {
		st.kept = append(st.kept, st.rows[i])
		copy(row(st.x, to, c.Width), row(st.x, i, c.Width))
		qkv := c.QWidth() + 2*c.KVWidth()
		copy(row(st.qkv, to, qkv), row(st.qkv, i, qkv))
	}
	st.rows = st.kept
	st.group()
}

// plan finds the rows that want logits and the runs of attention.
func (st *step) plan() {
	st.picked = st.picked[:0]
	for i, r := range st.rows {
		if r.Logits {
			st.picked = append(st.picked, i)
		}
	}
	st.group()
}

// group finds the runs of attention.
func (st *step) group() {
	st.runs = st.runs[:0]
	for i, r := range st.rows {
		if n := len(st.runs); n > 0 && st.rows[i-1].Seq == r.Seq && i-st.runs[n-1].lo < runRows {
			st.runs[n-1].hi++
		} else {
			st.runs = append(st.runs, span{i, i + 1})
		}
	}
	st.shares = 1
	if len(st.runs) < runsPerCore*len(st.pool.crew.workers) {
		st.shares = st.model.config.KVHeads
	}
}

func (st *step) check() {
	c := st.model.config
	if c != st.pool.config {
		panic("llama: the pool was made for another model")
	}
	if want := len(st.picked) * c.Vocab; len(st.logits) < want {
		panic(fmt.Sprintf("llama: logits has room for %d numbers; %d rows of %d need %d", len(st.logits), len(st.picked), c.Vocab, want))
	}
	for i, r := range st.rows {
		switch {
		case r.Seq == nil:
			panic(fmt.Sprintf("llama: row %d has no sequence", i))
		case r.Token < 0 || int(r.Token) >= c.Vocab:
			panic(fmt.Sprintf("llama: row %d: token %d is outside the vocabulary of %d", i, r.Token, c.Vocab))
		case r.Pos < 0 || r.Pos >= c.MaxContext:
			panic(fmt.Sprintf("llama: row %d: position %d is outside the context of %d", i, r.Pos, c.MaxContext))
		case r.Pos/BlockSize >= len(r.Seq.Blocks):
			panic(fmt.Sprintf("llama: row %d: position %d needs %d blocks; sequence %d has %d", i, r.Pos, r.Pos/BlockSize+1, r.Seq.ID, len(r.Seq.Blocks)))
		case i > 0 && st.rows[i-1].Seq == r.Seq && st.rows[i-1].Pos >= r.Pos:
			panic(fmt.Sprintf("llama: row %d: position %d after %d in sequence %d; positions must ascend", i, r.Pos, st.rows[i-1].Pos, r.Seq.ID))
		}
	}
	for _, run := range st.runs {
		r := st.rows[run.hi-1]
		for _, b := range r.Seq.Blocks[:r.Pos/BlockSize+1] {
			if b < 0 || int(b) >= st.pool.blocks {
				panic(fmt.Sprintf("llama: sequence %d has block %d; the pool has %d", r.Seq.ID, b, st.pool.blocks))
			}
		}
	}
}

// size grows the scratch memory: about 4 KB a row on the tiny model.
func (st *step) size() {
	c, n := st.model.config, len(st.rows)
	st.x = grown(st.x, n*c.Width)
	st.h = grown(st.h, n*c.Width)
	st.qkv = grown(st.qkv, n*(c.QWidth()+2*c.KVWidth()))
	st.att = grown(st.att, n*c.QWidth())
	st.act = grown(st.act, n*c.FFN)
	st.turn = grown(st.turn, n*c.RopeDim)
}

// sweep takes n rows through a chain of stages. With a row for every core,
// each core takes tiles of rows through the whole chain; with fewer, the cores
// share the columns of one stage after the other.
func (st *step) sweep(n int, chain []stage) {
	if n == 0 {
		return
	}
	st.n, st.chain = n, chain
	crew := &st.pool.crew
	if cores := len(crew.workers); n >= cores {
		st.tiles = roundUp((n+tileRows-1)/tileRows, cores)
		st.tile = (n + st.tiles - 1) / st.tiles
		st.tiles = (n + st.tile - 1) / st.tile
		work := 0
		for _, s := range chain {
			work += s.work()
		}
		crew.run(st.tiles, n*max(work, minStageWork), st.byTile)
		return
	}
	for i := range chain {
		st.chain = chain[i : i+1]
		st.groups = min((chain[i].columns()+columnStep-1)/columnStep, 4*len(crew.workers))
		crew.run(st.groups, n*chain[i].work(), st.byColumn)
	}
}

// minStageWork stands for the stages without a matrix, which are not free.
const minStageWork = 1 << 10

func (st *step) runTile(task int, w *worker) {
	rows := span{task * st.tile, min((task+1)*st.tile, st.n)}
	for _, s := range st.chain {
		for at, end, n := 0, s.columns(), s.panel(); at < end; at += n {
			s.run(rows, span{at, min(at+n, end)}, w)
		}
	}
}

func (st *step) runColumn(task int, w *worker) {
	end := st.chain[0].columns()
	steps := (end + columnStep - 1) / columnStep
	lo, hi := steps*task/st.groups*columnStep, steps*(task+1)/st.groups*columnStep
	st.chain[0].run(span{0, st.n}, span{lo, min(hi, end)}, w)
}

// ropeFrequencies returns by how much each rotated pair turns a position:
// base^(−2i/dim) (Su et al., RoFormer, equation 15).
func ropeFrequencies(c Config) []float64 {
	f := make([]float64, c.RopeDim/2)
	for i := range f {
		f[i] = math.Pow(c.RopeBase, -float64(2*i)/float64(c.RopeDim))
	}
	return f
}

// ropeAngles fills the cosine and sine of each rotated pair at a position.
func ropeAngles(turn []float32, pos int, frequencies []float64) {
	for i, f := range frequencies {
		sin, cos := math.Sincos(float64(pos) * f)
		turn[2*i], turn[2*i+1] = float32(cos), float32(sin)
	}
}
