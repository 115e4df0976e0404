// Package gguf reads GGUF model files, versions 2 and 3, little-endian.
//
// The layout is that of the specification (ggml, docs/gguf.md): a header,
// key-value metadata, one info record a tensor, then the aligned tensor data.
// The reader keeps the order in which a file lists its tensors, since a loader
// that lets that order decide anything is one of the faults the reference
// server exists to show.
//
// A file is input from a stranger: every length is checked against the bytes
// that are left before anything is allocated for it.
package gguf

import (
	"fmt"
	"os"
	"slices"
)

// A File is one parsed GGUF file. It refers to the bytes that it was parsed
// from and is safe for concurrent use as long as nobody changes them.
type File struct {
	name    string
	version uint32
	meta    map[string]value
	keys    []string // in file order
	tensors []Tensor // in file order
	byName  map[string]int
	data    []byte // the tensor data section
}

// A Tensor describes one tensor; its numbers come from [File.Float32].
type Tensor struct {
	Name  string
	Shape []int // row-major, outermost dimension first (the reverse of the file's own order)
	Type  Type

	offset, size int // bytes, within the data section
}

// Len is the number of elements.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Open reads the file at path. The file is read whole rather than mapped: its
// weights are converted to float32 once, at the start, and a file that is
// replaced under a mapping would kill the process.
func Open(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the model: %w", err)
	}
	return Parse(data, path)
}

// Parse reads a file from memory. name stands for it in error messages. The
// File keeps data; the caller must not change it.
func Parse(data []byte, name string) (*File, error) {
	f := &File{name: name, meta: map[string]value{}, byName: map[string]int{}}
	if err := f.parse(&cursor{data: data}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Name is the name that the file was opened or parsed under.
func (f *File) Name() string { return f.name }

// Version is the version of the GGUF format, 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Tensors describes all tensors in the order in which the file lists them.
func (f *File) Tensors() []Tensor {
	tensors := slices.Clone(f.tensors)
	for i := range tensors {
		tensors[i].Shape = slices.Clone(tensors[i].Shape)
	}
	return tensors
}

// Has tells whether the file has a tensor of that name.
func (f *File) Has(tensor string) bool {
	_, ok := f.byName[tensor]
	return ok
}

// Float32 returns the elements of a tensor, dequantised, row-major, and its
// shape, outermost dimension first. Both are the caller's own.
func (f *File) Float32(tensor string) ([]float32, []int, error) {
	i, ok := f.byName[tensor]
	if !ok {
		return nil, nil, fmt.Errorf("%s: no tensor named %q among the file's %d tensors", f.name, tensor, len(f.tensors))
	}
	t := f.tensors[i]
	out := make([]float32, t.Len())
	formats[t.Type].decode(out, f.data[t.offset:t.offset+t.size])
	return out, slices.Clone(t.Shape), nil
}
