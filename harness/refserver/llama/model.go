// Package llama computes Llama-architecture transformers in float32: RMSNorm,
// RoPE, grouped-query attention over a paged KV cache, SwiGLU. A step takes any
// mix of prompt and decoding rows and multiplies the matrices for all of them
// at once, on all cores.
//
// The arithmetic of a row never depends on the other rows of its step: the same
// tokens give the same logits, to the bit, alone and in a batch, in one chunk
// and in many, from reused blocks and from computed ones.
package llama

import (
	"fmt"
	"slices"
	"strings"

	"touchstone/harness/refserver/gguf"
)

// A Model holds the weights. It does not change after [Load], so several
// engines, each with its own [Pool], may share it.
type Model struct {
	config Config
	hooks  Hooks
	embed  []float32 // [vocab × width], the head's own when tied
	layers []layer
	norm   []float32 // [width]
	head   *matrix   // [width × vocab]
	// frequencies of RoPE, [ropeDim / 2]
	frequencies []float64
}

type layer struct {
	attnNorm, ffnNorm []float32 // [width]
	qkv               *matrix   // [width × (q + k + v)], read as Q, then K, then V
	out               *matrix   // [q × width]
	gate, up          *matrix   // [width × ffn]
	down              *matrix   // [ffn × width]
}

// Config returns the sizes and constants of the model.
func (m *Model) Config() Config { return m.config }

// Load reads all weights of f. hooks may be nil; they are copied, so later
// changes to them have no effect. Tensors may stand in any order in the file; a
// tensor that is missing, has another shape, or is not part of a plain Llama
// model is an error.
func Load(f *gguf.File, hooks *Hooks) (*Model, error) {
	c, err := ReadConfig(f)
	if err != nil {
		return nil, err
	}
	m := &Model{config: c, layers: make([]layer, c.Layers)}
	if hooks != nil {
		m.hooks = *hooks
	}
	l := loader{f: f, used: map[string]bool{}}
	m.embed = l.tensor("token_embd.weight", c.Vocab, c.Width)
	m.head = &matrix{in: c.Width, out: c.Vocab, w: m.embed}
	if !c.Tied {
		m.head = l.matrix("output.weight", c.Vocab, c.Width)
	}
	m.norm = l.tensor("output_norm.weight", c.Width)
	for i := range m.layers {
		m.layers[i] = l.layer(i, c, m.hooks.QKVOrder)
	}
	m.frequencies = ropeFrequencies(c)
	l.checkAllUsed()
	if l.err != nil {
		return nil, l.err
	}
	return m, nil
}

// loader reads tensors and keeps the first error.
type loader struct {
	f    *gguf.File
	used map[string]bool
	err  error
}

func (l *loader) tensor(name string, shape ...int) []float32 {
	l.used[name] = true
	if l.err != nil {
		return nil
	}
	data, got, err := l.f.Float32(name)
	if err == nil && !slices.Equal(got, shape) {
		err = fmt.Errorf("%s: tensor %s has shape %v; the file's own metadata asks for %v", l.f.Name(), name, got, shape)
	}
	if err != nil {
		l.err = err
		return nil
	}
	return data
}

func (l *loader) matrix(name string, out, in int) *matrix {
	return &matrix{in: in, out: out, w: l.tensor(name, out, in)}
}

func (l *loader) layer(i int, c Config, order func(int, []Shard) []Shard) layer {
	name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", i, part) }
	return layer{
		attnNorm: l.tensor(name("attn_norm"), c.Width),
		ffnNorm:  l.tensor(name("ffn_norm"), c.Width),
		qkv:      l.fusedQKV(i, c, order),
		out:      l.matrix(name("attn_output"), c.Width, c.QWidth()),
		gate:     l.matrix(name("ffn_gate"), c.FFN, c.Width),
		up:       l.matrix(name("ffn_up"), c.FFN, c.Width),
		down:     l.matrix(name("ffn_down"), c.Width, c.FFN),
	}
}

// checkAllUsed refuses tensors that no step reads (biases, RoPE factors,
// experts): leaving them out would give a plausible, wrong model.
func (l *loader) checkAllUsed() {
	if l.err != nil {
		return
	}
	var unknown []string
	for _, t := range l.f.Tensors() {
		if !l.used[t.Name] {
			unknown = append(unknown, t.Name)
		}
	}
	if len(unknown) > 0 {
		l.err = fmt.Errorf("%s: %d tensors are not part of a plain Llama model and would be ignored (%s); use a model without them",
			l.f.Name(), len(unknown), strings.Join(unknown[:min(len(unknown), 4)], ", "))
	}
}
