package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	magic            = "GGUF"
	maxDims          = 4  // GGML_MAX_DIMS
	defaultAlignment = 32 // GGUF_DEFAULT_ALIGNMENT
	alignmentKey     = "general.alignment"

	// maxHeader bounds what Scan reads to find a header's end. The longest
	// headers hold some 250,000 tokens and as many merges: about 15 MB.
	maxHeader  = 1 << 30
	headerStep = 1 << 20
)

// cursor walks through bytes. After the first failure it stays failed and
// returns zeros, so that callers check err once for each record.
type cursor struct {
	data []byte
	pos  int
	err  error

	more io.ReaderAt // where the bytes after data are; nil when data is all there is
	size int         // of it all, when more is set
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at byte %d: %w", c.pos, fmt.Errorf(format, args...))
	}
}

// whole is the number of bytes of it all.
func (c *cursor) whole() int {
	if c.more != nil {
		return c.size
	}
	return len(c.data)
}

// left is the number of bytes after the position.
func (c *cursor) left() int { return c.whole() - c.pos }

// fetch makes sure that data holds n bytes after the position. Slices that were
// taken before stay as they are.
func (c *cursor) fetch(n int) {
	have, need := len(c.data), c.pos+n
	if need <= have {
		return
	}
	if need > maxHeader {
		c.fail("the header is longer than %d bytes: the file is damaged; fetch it again", maxHeader)
		return
	}
	grown := make([]byte, min(max(need, 2*have, headerStep), c.size))
	copy(grown, c.data)
	if _, err := io.ReadFull(io.NewSectionReader(c.more, int64(have), int64(len(grown)-have)), grown[have:]); err != nil {
		c.fail("reading the header: %w", err)
		return
	}
	c.data = grown
}

// take returns the next n bytes, or nil when there are fewer.
func (c *cursor) take(n uint64, what string) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(c.left()) {
		c.fail("%s needs %d bytes, but %d are left: the file is cut short or damaged; fetch it again", what, n, c.left())
		return nil
	}
	if c.fetch(int(n)); c.err != nil {
		return nil
	}
	b := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) uint32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) uint64(what string) uint64 {
	if b := c.take(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) string(what string) string {
	n := c.uint64("the length of " + what)
	return string(c.take(n, what))
}

func (f *File) parse(c *cursor) error {
	if m := c.take(4, "the magic"); c.err == nil && string(m) != magic {
		return fmt.Errorf("not a GGUF file: it starts with %q, not %q", m, magic)
	}
	f.version = c.uint32("the version")
	if c.err == nil && f.version != 2 && f.version != 3 {
		return versionError(f.version)
	}
	tensors := c.uint64("the tensor count")
	pairs := c.uint64("the metadata count")
	// Nothing is sized by these two counts: the loops end with the bytes.
	for i := uint64(0); i < pairs && c.err == nil; i++ {
		f.parsePair(c)
	}
	for i := uint64(0); i < tensors && c.err == nil; i++ {
		f.parseTensor(c)
	}
	if c.err != nil {
		return c.err
	}
	return f.placeTensors(c)
}

func versionError(v uint32) error {
	switch {
	case v&0xffff == 0 && v != 0:
		return errors.New("a big-endian GGUF file; write it again little-endian (gguf_convert_endian.py of llama.cpp)")
	case v == 1:
		return errors.New("GGUF version 1; versions 2 and 3 are read: convert the model again with a current llama.cpp")
	default:
		return fmt.Errorf("GGUF version %d; versions 2 and 3 are read", v)
	}
}

func (f *File) parsePair(c *cursor) {
	key := c.string("a metadata key")
	if c.err != nil {
		return
	}
	if _, twice := f.meta[key]; twice || key == "" {
		c.fail("metadata key %q is empty or stands twice", key)
		return
	}
	v := readValue(c, key)
	if c.err == nil {
		f.meta[key] = v
		f.keys = append(f.keys, key)
	}
}

func (f *File) parseTensor(c *cursor) {
	t := Tensor{Name: c.string("a tensor name")}
	dims := c.uint32("the dimension count of a tensor")
	if c.err != nil {
		return
	}
	if _, twice := f.byName[t.Name]; twice || t.Name == "" {
		c.fail("tensor name %q is empty or stands twice", t.Name)
		return
	}
	if dims == 0 || dims > maxDims {
		c.fail("tensor %q has %d dimensions, not 1 to %d", t.Name, dims, maxDims)
		return
	}
	t.Shape = make([]int, dims)
	elements := uint64(1)
	for i := range t.Shape {
		d := c.uint64("a dimension of tensor " + t.Name)
		if c.err == nil && (d == 0 || d > math.MaxInt32 || elements > math.MaxInt64/8/d) {
			c.fail("tensor %q has a dimension of %d: zero, or too large", t.Name, d)
		}
		if c.err != nil {
			return
		}
		elements *= d
		t.Shape[len(t.Shape)-1-i] = int(d)
	}
	t.Type = Type(c.uint32("the type of tensor " + t.Name))
	offset := c.uint64("the offset of tensor " + t.Name)
	if c.err != nil {
		return
	}
	format, ok := formats[t.Type]
	if !ok {
		c.fail("tensor %q is of type %v; the types read are %s: write the model again in one of them (llama-quantize)", t.Name, t.Type, supported())
		return
	}
	row := t.Shape[len(t.Shape)-1]
	if row%format.block != 0 {
		c.fail("tensor %q has rows of %d elements, which %v blocks of %d do not fill", t.Name, row, t.Type, format.block)
		return
	}
	// No overflow: elements is below 2^60 and no format takes more than 4 bytes an element.
	size := elements / uint64(format.block) * uint64(format.bytes)
	if whole := uint64(c.whole()); offset > whole || size > whole {
		c.fail("tensor %q: %d bytes of data at offset %d lie outside the file of %d bytes: it is cut short or damaged; fetch it again", t.Name, size, offset, whole)
		return
	}
	t.offset, t.size = int(offset), int(size)
	f.byName[t.Name] = len(f.tensors)
	f.tensors = append(f.tensors, t)
}

// placeTensors finds the data section and checks that each tensor lies in it.
func (f *File) placeTensors(c *cursor) error {
	alignment, ok, err := f.int(alignmentKey)
	if err != nil {
		return err
	}
	if !ok {
		alignment = defaultAlignment
	}
	if alignment <= 0 || alignment > math.MaxInt32 || alignment&(alignment-1) != 0 {
		return fmt.Errorf("%s is %d, not a power of two", alignmentKey, alignment)
	}
	f.alignment = alignment
	f.size = c.whole()
	f.start = min(roundUp(c.pos, alignment), f.size)
	section := f.size - f.start
	for _, t := range f.tensors {
		if t.offset%alignment != 0 {
			return fmt.Errorf("tensor %q lies at offset %d, which is no multiple of the alignment %d", t.Name, t.offset, alignment)
		}
		if t.offset+t.size > section {
			return fmt.Errorf("tensor %q takes bytes %d to %d of a data section of %d bytes: the file is cut short or damaged; fetch it again",
				t.Name, t.offset, t.offset+t.size, section)
		}
	}
	return nil
}

// roundUp returns the next multiple of to, a power of two.
func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }
