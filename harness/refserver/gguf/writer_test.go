package gguf

import (
	"encoding/binary"
	"math"
)

// builder writes GGUF bytes for tests. It writes what it is told, right or wrong.
type builder struct {
	version        uint32
	pairs, tensors uint64
	meta, infos    []byte
	alignment      int
	data           []byte
}

func newBuilder() *builder { return &builder{version: 3, alignment: 32} }

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func f32(v float32) []byte {
	return u32(math.Float32bits(v))
}
func str(s string) []byte { return append(u64(uint64(len(s))), s...) }

// pair adds a scalar.
func (b *builder) pair(key string, k kind, raw []byte) *builder {
	b.pairs++
	b.meta = append(b.meta, str(key)...)
	b.meta = append(b.meta, u32(uint32(k))...)
	b.meta = append(b.meta, raw...)
	return b
}

// array adds an array that claims count elements.
func (b *builder) array(key string, k kind, count int, raw []byte) *builder {
	return b.pair(key, kindArray, append(append(u32(uint32(k)), u64(uint64(count))...), raw...))
}

// tensor adds a tensor at the end of the data section; dims stand in file order.
func (b *builder) tensor(name string, t Type, raw []byte, dims ...uint64) *builder {
	for len(b.data)%b.alignment != 0 {
		b.data = append(b.data, 0)
	}
	b.info(name, t, uint64(len(b.data)), dims...)
	b.data = append(b.data, raw...)
	return b
}

// info adds a tensor's record alone.
func (b *builder) info(name string, t Type, offset uint64, dims ...uint64) *builder {
	b.tensors++
	b.infos = append(b.infos, str(name)...)
	b.infos = append(b.infos, u32(uint32(len(dims)))...)
	for _, d := range dims {
		b.infos = append(b.infos, u64(d)...)
	}
	b.infos = append(b.infos, u32(uint32(t))...)
	b.infos = append(b.infos, u64(offset)...)
	return b
}

func (b *builder) bytes() []byte {
	out := append([]byte(magic), u32(b.version)...)
	out = append(out, u64(b.tensors)...)
	out = append(out, u64(b.pairs)...)
	out = append(out, b.meta...)
	out = append(out, b.infos...)
	for len(out)%b.alignment != 0 {
		out = append(out, 0)
	}
	return append(out, b.data...)
}
