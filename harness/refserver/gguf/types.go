package gguf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Type is the element type of a tensor, numbered as enum ggml_type.
type Type uint32

// The tensor types that the reader converts to float32.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q4_1 Type = 3
	Q8_0 Type = 8
	BF16 Type = 30
)

// format says how a type is stored: block elements take bytes bytes.
// decode reads len(dst) elements; src holds exactly as many.
type format struct {
	name         string
	block, bytes int
	decode       func(dst []float32, src []byte)
}

// formats follows the block structs of ggml-common.h.
var formats = map[Type]format{
	F32:  {"F32", 1, 4, decodeF32},
	F16:  {"F16", 1, 2, decodeF16},
	Q4_0: {"Q4_0", 32, 2 + 16, decodeQ4_0},
	Q4_1: {"Q4_1", 32, 2 + 2 + 16, decodeQ4_1},
	Q8_0: {"Q8_0", 32, 2 + 32, decodeQ8_0},
	BF16: {"BF16", 1, 2, decodeBF16},
}

// unread names the common types that the reader refuses, for its messages.
var unread = map[Type]string{
	6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K",
	16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS",
	24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M",
}

// String is the type's name in ggml, such as Q8_0.
func (t Type) String() string {
	if f, ok := formats[t]; ok {
		return f.name
	}
	if name, ok := unread[t]; ok {
		return name
	}
	return fmt.Sprintf("%d", uint32(t))
}

// Block returns how many elements a block of the type holds, and in how many
// bytes: 32 and 34 for Q8_0, 1 and 4 for F32. Types that the reader refuses have
// none.
func (t Type) Block() (elements, size int) { return formats[t].block, formats[t].bytes }

func supported() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(formats)) {
		names = append(names, formats[t].name)
	}
	return strings.Join(names, ", ")
}

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = half(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

// decodeQ4_0: x = d·(q − 8). The low halves of the 16 bytes are the first 16
// elements of a block, the high halves the last 16.
func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
		d := half(src)
		for i, q := range src[2:18] {
			dst[i] = d * float32(int(q&0xf)-8)
			dst[i+16] = d * float32(int(q>>4)-8)
		}
	}
}

// decodeQ4_1: x = d·q + m, elements placed as in Q4_0.
func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[20:] {
		d, m := half(src), half(src[2:])
		for i, q := range src[4:20] {
			// The conversions keep the compiler from fusing multiply and add, so
			// that every processor loads the same weights.
			dst[i] = float32(d*float32(q&0xf)) + m
			dst[i+16] = float32(d*float32(q>>4)) + m
		}
	}
}

// decodeQ8_0: x = d·q, q a signed byte.
func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[34:] {
		d := half(src)
		for i, q := range src[2:34] {
			dst[i] = d * float32(int8(q))
		}
	}
}

func half(b []byte) float32 { return Float16(binary.LittleEndian.Uint16(b)) }

// Float16 converts an IEEE 754 binary16 number, exactly.
func Float16(bits uint16) float32 {
	h := uint32(bits)
	sign, exponent, fraction := h>>15<<31, h>>10&0x1f, h&0x3ff
	switch exponent {
	case 0: // zero or subnormal: fraction · 2^-24
		return math.Float32frombits(math.Float32bits(float32(fraction)*0x1p-24) | sign)
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	default: // the exponent's bias goes from 15 to 127
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	}
}

// Float16Bits rounds v to the nearest IEEE 754 binary16 number, ties to even.
// From 65,520 on, half way beyond the largest one, the result is infinite.
func Float16Bits(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, size := uint16(bits>>16&0x8000), bits&0x7fffffff
	abs := math.Float32frombits(size)
	switch {
	case v != v:
		return sign | 0x7e00
	case abs >= 65520:
		return sign | 0x7c00
	case abs < 0x1p-14: // subnormal, a multiple of 2^-24; 2^10 of them are the least normal number
		return sign | uint16(math.RoundToEven(float64(abs)*0x1p24))
	}
	size += 0xfff + size>>13&1 // the 13 bits that go: nearest, ties to even
	return sign | uint16(size>>13-(127-15)<<10)
}
