package corrupt

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/spec"
)

// A job is one fault on its way into the copy of one file.
type job struct {
	f      *gguf.File
	edit   *gguf.Edit
	values map[string]string
	arch   string
	layers int
}

func newJob(f *gguf.File, values map[string]string) (*job, error) {
	arch, ok, err := f.String("general.architecture")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s has no general.architecture: it is no model, perhaps an adapter or a projector", f.Name())
	}
	j := &job{f: f, edit: f.Edit(), values: values, arch: arch}
	for _, t := range f.Tensors() {
		if i, ok := layerOf(t.Name); ok {
			j.layers = max(j.layers, i+1)
		}
	}
	return j, nil
}

// layerOf returns the layer of a tensor: 3 for blk.3.attn_q.weight.
func layerOf(tensor string) (int, bool) {
	rest, ok := strings.CutPrefix(tensor, "blk.")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, ".")
	i, err := strconv.Atoi(number)
	return i, ok && err == nil && i >= 0
}

func blk(layer int, part string) string { return fmt.Sprintf("blk.%d.%s", layer, part) }

// span returns the layers of the parameter "layers", first to last.
func (j *job) span() (first, last int, err error) {
	if j.layers == 0 {
		return 0, 0, fmt.Errorf("%s has no tensors named blk.N: no layers to change", j.f.Name())
	}
	return spec.LayerRange(j.values["layers"], j.layers)
}

// eachLayer calls do for the chosen layers. do tells whether it found in a layer
// what it is about; a fault that finds it in none is refused, with a sentence
// that names what it wanted.
func (j *job) eachLayer(wanted string, do func(layer int) (found bool, err error)) error {
	first, last, err := j.span()
	if err != nil {
		return err
	}
	any := false
	for layer := first; layer <= last; layer++ {
		found, err := do(layer)
		if err != nil {
			return err
		}
		any = any || found
	}
	if !any {
		return fmt.Errorf("%s has no %s in layers %d to %d; an architecture %q without them needs another fault", j.f.Name(), wanted, first, last, j.arch)
	}
	return nil
}

// tensors returns the named tensors, or none when one of them is missing.
func (j *job) tensors(names ...string) []gguf.Tensor {
	var out []gguf.Tensor
	for _, name := range names {
		t, err := j.f.Tensor(name)
		if err != nil {
			return nil
		}
		out = append(out, t)
	}
	return out
}

// The parts of a tensor's name behind the layer: a weight and, in some
// architectures, its bias. What moves the rows of one moves those of the other.
var weightAndBias = []string{".weight", ".bias"}

// zero clears a tensor. In every type that is read, zero bytes are zeros: a
// block's scale and minimum are 0, whatever its quants are.
func (j *job) zero(tensor string) {
	j.edit.Patch(tensor, func(raw []byte) error { clear(raw); return nil })
}

// replace gives a tensor the bytes of another one of the same type and shape.
func (j *job) replace(tensor, by gguf.Tensor) error {
	if tensor.Type != by.Type || !slices.Equal(tensor.Shape, by.Shape) {
		return fmt.Errorf("%s is %v %v and %s is %v %v; their bytes can be exchanged only when type and shape are the same: "+
			"use a file with one type throughout, such as F16 or Q8_0", tensor.Name, tensor.Type, tensor.Shape, by.Name, by.Type, by.Shape)
	}
	j.edit.Patch(tensor.Name, func(raw []byte) error {
		other, err := j.f.Raw(by.Name)
		copy(raw, other)
		return err
	})
	return nil
}

// rowSize returns the number of rows of a tensor and the bytes of each. The rows
// of experts stand one matrix after the other. An element of a bias is a row.
func rowSize(t gguf.Tensor) (rows, size int, err error) {
	rows = 1
	for _, d := range t.Shape[:max(len(t.Shape)-1, 1)] {
		rows *= d
	}
	if block, _ := t.Type.Block(); len(t.Shape) == 1 && block != 1 {
		return 0, 0, fmt.Errorf("%s has one dimension and is %v: its elements cannot be moved one by one", t.Name, t.Type)
	}
	return rows, t.Size() / rows, nil
}

// permute gives row i of a tensor the bytes that row source[i] has.
func (j *job) permute(t gguf.Tensor, source []int) error {
	rows, size, err := rowSize(t)
	if err != nil {
		return err
	}
	if rows != len(source) {
		return fmt.Errorf("%s has %d rows, not %d", t.Name, rows, len(source))
	}
	j.edit.Patch(t.Name, func(raw []byte) error {
		before := slices.Clone(raw)
		for i, from := range source {
			copy(raw[i*size:(i+1)*size], before[from*size:])
		}
		return nil
	})
	return nil
}

// named returns the tensor of the parameter "tensor".
func (j *job) named() (gguf.Tensor, error) {
	name := j.values["tensor"]
	t, err := j.f.Tensor(name)
	if err == nil {
		return t, nil
	}
	var names []string
	for _, t := range j.f.Tensors() {
		if layer, ok := layerOf(t.Name); !ok || layer == 0 {
			names = append(names, t.Name)
		}
	}
	return gguf.Tensor{}, fmt.Errorf("%s has no tensor %q; outside the layers and in layer 0, %s", j.f.Name(), name, spec.Suggest(name, names))
}

// random returns a source of random numbers for one tensor. It depends on the
// parameter "seed" and the tensor's name, not on what was drawn before.
func (j *job) random(tensor string) (*rand.Rand, error) {
	seed, err := strconv.ParseUint(j.values["seed"], 10, 64)
	if err != nil {
		return nil, errors.New("the seed is no number")
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(tensor)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64())), nil
}

func seedParam() spec.Param {
	return spec.Param{Name: "seed", Summary: "of the random numbers; the same seed gives the same file", Default: "1", Check: func(v string) error {
		if _, err := strconv.ParseUint(v, 10, 64); err != nil {
			return fmt.Errorf("%q is no seed; write a whole number from 0 on", v)
		}
		return nil
	}}
}

func tensorParam(byDefault string) spec.Param {
	return spec.Param{Name: "tensor", Summary: "the tensor's name in the file", Default: byDefault, Check: func(string) error { return nil }}
}

// choice is a parameter that takes one of some words, by default the first.
func choice(name, summary string, words ...string) spec.Param {
	summary += " (" + strings.Join(words, ", ") + ")"
	return spec.Param{Name: name, Summary: summary, Default: words[0], Check: func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is not one of its values; %s", v, spec.Suggest(v, words))
		}
		return nil
	}}
}
