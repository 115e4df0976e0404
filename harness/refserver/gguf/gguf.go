// Package gguf reads GGUF model files, versions 2 and 3, little-endian, and
// writes changed copies of them.
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
	"bytes"
	"fmt"
	"io"
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

	whole       []byte      // the file, when it is in memory
	src         io.ReaderAt // the file
	start, size int         // bytes: where the data section starts, and all
	alignment   int
}

// A Tensor describes one tensor; its numbers come from [File.Float32].
type Tensor struct {
	Name  string
	Shape []int // row-major, outermost dimension first (the reverse of the file's own order)
	Type  Type

	offset, size int // bytes, within the data section
}

// Size is the number of bytes that the tensor takes in the file.
func (t Tensor) Size() int { return t.size }

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
	f := &File{name: name, whole: data, src: bytes.NewReader(data)}
	return f.read(&cursor{data: data})
}

// Scan reads the header of a file alone: the memory it takes does not grow with
// the weights, which [File.Raw] and [Edit.WriteTo] read from r when they are
// asked for. size is the file's number of bytes, name stands for it in error
// messages. r must stay open and unchanged.
func Scan(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, src: r}
	return f.read(&cursor{more: r, size: int(size)})
}

func (f *File) read(c *cursor) (*File, error) {
	f.meta, f.byName = map[string]value{}, map[string]int{}
	if err := f.parse(c); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
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

// Tensor returns the description of a tensor.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.byName[name]
	if !ok {
		return Tensor{}, fmt.Errorf("%s: no tensor named %q among the file's %d tensors", f.name, name, len(f.tensors))
	}
	t := f.tensors[i]
	t.Shape = slices.Clone(t.Shape)
	return t, nil
}

// Float32 returns the elements of a tensor, dequantised, row-major, and its
// shape, outermost dimension first. Both are the caller's own.
func (f *File) Float32(tensor string) ([]float32, []int, error) {
	t, err := f.Tensor(tensor)
	if err != nil {
		return nil, nil, err
	}
	var raw []byte
	if f.whole != nil {
		raw = f.whole[f.start+t.offset:][:t.size] // no copy of a model that is in memory already
	} else if raw, err = f.Raw(tensor); err != nil {
		return nil, nil, err
	}
	out := make([]float32, t.Len())
	formats[t.Type].decode(out, raw)
	return out, t.Shape, nil
}

// Raw returns the bytes of a tensor as the file stores them, row after row. They
// are the caller's own.
func (f *File) Raw(tensor string) ([]byte, error) {
	t, err := f.Tensor(tensor)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, t.size)
	if _, err := io.ReadFull(io.NewSectionReader(f.src, int64(f.start+t.offset), int64(t.size)), raw); err != nil {
		return nil, fmt.Errorf("%s: reading tensor %q: %w", f.name, tensor, err)
	}
	return raw, nil
}
