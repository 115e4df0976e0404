package llama

import (
	"fmt"
	"math"

	"touchstone/harness/refserver/gguf"
)

// Config holds the sizes and constants of a model, as its file states them.
type Config struct {
	Vocab      int // tokens
	Width      int // numbers in a hidden state
	Layers     int
	Heads      int // query heads
	KVHeads    int // key and value heads; Heads is a multiple
	HeadDim    int // numbers in a head
	FFN        int // width of the feed-forward layer
	MaxContext int // positions
	RopeDim    int // rotated numbers in a head, ≤ HeadDim
	RopeBase   float64
	RMSEps     float64
	Tied       bool // the output head is the token embedding
}

// QWidth is the width of all query heads together.
func (c Config) QWidth() int { return c.Heads * c.HeadDim }

// KVWidth is the width of all key heads, or all value heads, together.
func (c Config) KVWidth() int { return c.KVHeads * c.HeadDim }

// ReadConfig reads the configuration of a Llama-architecture file. What the
// forward pass would silently compute wrongly (another architecture, experts,
// RoPE scaling, a sliding window) is an error.
func ReadConfig(f *gguf.File) (Config, error) {
	arch, ok, err := f.String("general.architecture")
	if err != nil {
		return Config{}, err
	}
	if !ok || arch != "llama" {
		return Config{}, fmt.Errorf("%s: general.architecture is %q; the reference server computes \"llama\" alone", f.Name(), arch)
	}
	r := reader{f: f}
	c := Config{
		Layers:     r.positive("llama.block_count"),
		Width:      r.positive("llama.embedding_length"),
		Heads:      r.positive("llama.attention.head_count"),
		FFN:        r.positive("llama.feed_forward_length"),
		MaxContext: r.positive("llama.context_length"),
		RMSEps:     r.float("llama.attention.layer_norm_rms_epsilon", math.NaN()),
		RopeBase:   r.float("llama.rope.freq_base", 10000), // llama.cpp's default
		Tied:       !f.Has("output.weight"),
	}
	c.KVHeads = r.optional("llama.attention.head_count_kv", c.Heads)
	if r.err != nil {
		return Config{}, r.err
	}
	c.HeadDim = r.optional("llama.attention.key_length", c.Width/c.Heads)
	c.RopeDim = r.optional("llama.rope.dimension_count", c.HeadDim)
	valueDim := r.optional("llama.attention.value_length", c.HeadDim)
	c.Vocab = r.vocabulary()
	r.refuse()
	if r.err != nil {
		return Config{}, r.err
	}
	return c, c.check(f.Name(), valueDim)
}

// check refuses sizes that do not fit each other.
func (c Config) check(file string, valueDim int) error {
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%s: %d query heads cannot share %d key and value heads evenly", file, c.Heads, c.KVHeads)
	case valueDim != c.HeadDim:
		return fmt.Errorf("%s: llama.attention.value_length is %d and the key length %d; only equal lengths are computed", file, valueDim, c.HeadDim)
	case c.RopeDim > c.HeadDim || c.RopeDim%2 != 0:
		return fmt.Errorf("%s: llama.rope.dimension_count is %d; it must be even and at most the head's %d", file, c.RopeDim, c.HeadDim)
	case !(c.RMSEps > 0):
		return fmt.Errorf("%s: llama.attention.layer_norm_rms_epsilon is %g or absent; it must be above 0", file, c.RMSEps)
	case !(c.RopeBase > 0):
		return fmt.Errorf("%s: llama.rope.freq_base is %g; it must be above 0", file, c.RopeBase)
	}
	return nil
}

// reader reads metadata and keeps the first error.
type reader struct {
	f   *gguf.File
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) optional(key string, absent int) int {
	v, ok, err := r.f.Int(key)
	if err != nil {
		r.fail(err)
		return absent
	}
	if !ok {
		v = absent
	}
	if v <= 0 {
		r.fail(fmt.Errorf("%s: %s is %d; it must be above 0", r.f.Name(), key, v))
	}
	return v
}

func (r *reader) positive(key string) int {
	if _, ok, err := r.f.Int(key); err == nil && !ok {
		r.fail(fmt.Errorf("%s: the key %s is missing; a Llama file must have it", r.f.Name(), key))
		return 1
	}
	return max(r.optional(key, 1), 1)
}

func (r *reader) float(key string, absent float64) float64 {
	v, ok, err := r.f.Float(key)
	if err != nil {
		r.fail(err)
	}
	if !ok {
		return absent
	}
	return v
}

// vocabulary takes the number of tokens from the embedding itself:
// llama.vocab_size is optional, and a file whose token list is padded differs.
func (r *reader) vocabulary() int {
	for _, t := range r.f.Tensors() {
		if t.Name == "token_embd.weight" && len(t.Shape) == 2 {
			return t.Shape[0]
		}
	}
	r.fail(fmt.Errorf("%s: no tensor token_embd.weight of two dimensions", r.f.Name()))
	return 1
}

// refuse fails on metadata that asks for arithmetic which is not implemented.
func (r *reader) refuse() {
	neutral := func(key string, want float64) {
		v, ok, err := r.f.Float(key)
		if err != nil { // written as an integer
			var n int
			n, ok, err = r.f.Int(key)
			v = float64(n)
		}
		if err != nil {
			r.fail(err)
		} else if ok && v != want {
			r.fail(fmt.Errorf("%s: %s is %g, which is not implemented (only %g is); use a model without it", r.f.Name(), key, v, want))
		}
	}
	scaling, _, err := r.f.String("llama.rope.scaling.type")
	if err != nil {
		r.fail(err)
	}
	if scaling != "" && scaling != "none" {
		neutral("llama.rope.scaling.factor", 1)
		if scaling != "linear" {
			r.fail(fmt.Errorf("%s: llama.rope.scaling.type is %q, which is not implemented; use a model without RoPE scaling", r.f.Name(), scaling))
		}
	}
	neutral("llama.rope.scale_linear", 1)
	neutral("llama.expert_count", 0)
	neutral("llama.attention.sliding_window", 0)
	neutral("llama.attention.clamp_kqv", 0)
	neutral("llama.logit_scale", 1)
	neutral("llama.embedding_scale", 1)
	neutral("llama.residual_scale", 1)
}
