package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// An Edit is a changed copy of a file in the making. The data section keeps its
// layout: tensors keep their types, shapes and places. What nobody changes is
// copied byte for byte, so an Edit without changes writes the file itself.
//
// The first wrong change makes all later ones, and the writing, fail with its
// error.
type Edit struct {
	f       *File
	meta    map[string]value
	keys    []string
	tensors []Tensor // as they will be listed, under their new names
	patches map[string]func(raw []byte) error
	header  bool // the header is to be written anew
	changed []string
	err     error
}

// Edit begins a changed copy of f.
func (f *File) Edit() *Edit {
	return &Edit{f: f, meta: maps.Clone(f.meta), keys: f.Keys(), tensors: f.Tensors(), patches: map[string]func([]byte) error{}}
}

// Err is the error of the first wrong change.
func (e *Edit) Err() error { return e.err }

func (e *Edit) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("%s: %w", e.f.name, fmt.Errorf(format, args...))
	}
}

// The setters give a metadata key a value, of whatever type it had; a key that
// the file lacks is added at the end.

// SetString sets a string.
func (e *Edit) SetString(key, v string) {
	e.set(key, value{kind: kindString, count: 1, raw: encodeString(v)})
}

// SetUint32 sets an unsigned integer.
func (e *Edit) SetUint32(key string, v uint32) {
	e.set(key, value{kind: kindUint32, count: 1, raw: binary.LittleEndian.AppendUint32(nil, v)})
}

// SetFloat32 sets a float.
func (e *Edit) SetFloat32(key string, v float32) {
	e.set(key, value{kind: kindFloat32, count: 1, raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))})
}

// SetStrings sets an array of strings.
func (e *Edit) SetStrings(key string, v []string) {
	x := value{kind: kindString, array: true, count: len(v)}
	for _, s := range v {
		x.raw = append(x.raw, encodeString(s)...)
	}
	e.set(key, x)
}

func (e *Edit) set(key string, v value) {
	if key == alignmentKey {
		// Tensors would lie at offsets that the new alignment forbids.
		e.fail("%s cannot be changed in a copy that keeps the places of its tensors", alignmentKey)
		return
	}
	if old, ok := e.meta[key]; !ok {
		e.keys = append(e.keys, key)
	} else if old.kind == v.kind && old.array == v.array && bytes.Equal(old.raw, v.raw) {
		return
	}
	e.meta[key], e.header = v, true
}

// Rename gives a metadata key or a tensor another name.
func (e *Edit) Rename(from, to string) {
	if i := slices.Index(e.keys, from); i >= 0 {
		if _, taken := e.meta[to]; taken {
			e.fail("there is a key %q already", to)
			return
		}
		e.keys[i] = to
		e.meta[to] = e.meta[from]
		delete(e.meta, from)
		e.header = true
		return
	}
	i := e.index(from)
	if i < 0 || e.index(to) >= 0 {
		e.fail("no key or tensor %q to rename, or there is a tensor %q already", from, to)
		return
	}
	e.tensors[i].Name, e.header = to, true
}

// Order lists the named tensors in the order of names, in the places that they
// hold now. Their data stays where it is.
func (e *Edit) Order(names ...string) {
	var places []int
	var records []Tensor
	for _, name := range names {
		i := e.index(name)
		if i < 0 || slices.Contains(places, i) {
			e.fail("no tensor %q to put in order, or it is named twice", name)
			return
		}
		places, records = append(places, i), append(records, e.tensors[i])
	}
	slices.Sort(places)
	for i, place := range places {
		e.tensors[place] = records[i]
	}
	e.header = true
}

func (e *Edit) index(tensor string) int {
	return slices.IndexFunc(e.tensors, func(t Tensor) bool { return t.Name == tensor })
}

// Patch has change rewrite the bytes of a tensor, in place, as they are written.
// tensor is its name in the original; several patches of one tensor run in the
// order in which they were added. change may read other tensors of the original
// with [File.Raw].
func (e *Edit) Patch(tensor string, change func(raw []byte) error) {
	if !e.f.Has(tensor) {
		e.fail("no tensor %q to change", tensor)
		return
	}
	if earlier := e.patches[tensor]; earlier != nil {
		later := change
		change = func(raw []byte) error { return errors.Join(earlier(raw), later(raw)) }
	}
	e.patches[tensor] = change
}

// Changed lists, after writing, the tensors whose bytes differ from the
// original's, in the order of their data. header tells whether the header was
// written anew.
func (e *Edit) Changed() (tensors []string, header bool) { return slices.Clone(e.changed), e.header }

// WriteTo writes the copy. At most one tensor at a time is held in memory,
// besides what patches read.
func (e *Edit) WriteTo(w io.Writer) (int64, error) {
	if e.err != nil {
		return 0, e.err
	}
	e.changed = nil
	out := &copier{w: w, f: e.f}
	if e.header {
		out.write(e.encodeHeader())
		out.pos = e.f.start
	}
	inPlace := e.f.Tensors()
	slices.SortStableFunc(inPlace, func(a, b Tensor) int { return cmp.Compare(a.offset, b.offset) })
	for _, t := range inPlace {
		if change := e.patches[t.Name]; change != nil {
			e.writePatched(out, t, change)
		}
	}
	out.copyTo(e.f.size)
	return out.n, out.err
}

func (e *Edit) writePatched(out *copier, t Tensor, change func([]byte) error) {
	at := e.f.start + t.offset
	if at < out.pos {
		out.fail(fmt.Errorf("%s: the data of tensor %q overlaps that of another one", e.f.name, t.Name))
	}
	if out.copyTo(at); out.err != nil {
		return
	}
	before, err := e.f.Raw(t.Name)
	if err != nil {
		out.fail(err)
		return
	}
	raw := slices.Clone(before)
	if err := change(raw); err != nil {
		out.fail(fmt.Errorf("%s: tensor %s: %w", e.f.name, t.Name, err))
		return
	}
	if !bytes.Equal(raw, before) {
		e.changed = append(e.changed, t.Name)
	}
	out.write(raw)
	out.pos = at + t.size
}

// encodeHeader is everything before the data section, padding included.
func (e *Edit) encodeHeader() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(magic), e.f.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(e.tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(e.keys)))
	for _, key := range e.keys {
		b = e.meta[key].append(append(b, encodeString(key)...))
	}
	for _, t := range e.tensors {
		b = append(b, encodeString(t.Name)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Shape)))
		for _, d := range slices.Backward(t.Shape) {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(t.Type))
		b = binary.LittleEndian.AppendUint64(b, uint64(t.offset))
	}
	return append(b, make([]byte, roundUp(len(b), e.f.alignment)-len(b))...)
}

// append encodes the value behind its key.
func (v value) append(b []byte) []byte {
	if v.array {
		b = binary.LittleEndian.AppendUint32(b, uint32(kindArray))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(v.kind))
	if v.array {
		b = binary.LittleEndian.AppendUint64(b, uint64(v.count))
	}
	return append(b, v.raw...)
}

func encodeString(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

// copier writes a file from front to back and keeps the first error.
type copier struct {
	w   io.Writer
	f   *File
	pos int   // in the original: what stands before has been written
	n   int64 // bytes written
	err error
}

func (c *copier) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *copier) write(b []byte) {
	if c.err == nil {
		n, err := c.w.Write(b)
		c.n += int64(n)
		c.fail(err)
	}
}

// copyTo copies the original's bytes from pos to to.
func (c *copier) copyTo(to int) {
	if c.err == nil && to > c.pos {
		n, err := io.CopyN(c.w, io.NewSectionReader(c.f.src, int64(c.pos), int64(to-c.pos)), int64(to-c.pos))
		c.n += n
		c.fail(err)
		c.pos = to
	}
}
