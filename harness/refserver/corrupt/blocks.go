package corrupt

import (
	"encoding/binary"
	"fmt"
	"math"

	"touchstone/harness/refserver/gguf"
)

// stored is how the numbers of a type that carry its magnitude are stored: all
// elements of a plain type, the scale and the minimum of a block.
type stored struct {
	width  int   // bytes of a number
	stride int   // bytes of a block
	at     []int // offsets of the numbers in a block; the first one is the scale
	get    func(b []byte) float32
	put    func(b []byte, v float32)
	nan    uint32 // a quiet NaN
	inf    uint32 // bits of infinity; all finite numbers' bits are below, sign apart
	sign   uint32
}

// storedAs follows the block structs of ggml-common.h: d, the scale, comes
// first, then m, the minimum, in the types that have one.
func storedAs(t gguf.Tensor) (stored, error) {
	_, size := t.Type.Block()
	half := stored{width: 2, stride: size, at: []int{0}, nan: 0x7e00, inf: 0x7c00, sign: 0x8000,
		get: func(b []byte) float32 { return gguf.Float16(binary.LittleEndian.Uint16(b)) },
		put: func(b []byte, v float32) { binary.LittleEndian.PutUint16(b, gguf.Float16Bits(v)) }}
	switch t.Type {
	case gguf.F32:
		return stored{width: 4, stride: 4, at: []int{0}, nan: 0x7fc00000, inf: 0x7f800000, sign: 0x80000000,
			get: func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
			put: func(b []byte, v float32) { binary.LittleEndian.PutUint32(b, math.Float32bits(v)) }}, nil
	case gguf.BF16:
		return stored{width: 2, stride: 2, at: []int{0}, nan: 0x7fc0, inf: 0x7f80, sign: 0x8000,
			get: func(b []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16) },
			put: func(b []byte, v float32) { // to nearest, ties to even
				bits := math.Float32bits(v)
				binary.LittleEndian.PutUint16(b, uint16((bits+0x7fff+bits>>16&1)>>16))
			}}, nil
	case gguf.F16, gguf.Q8_0, gguf.Q4_0:
		return half, nil
	case gguf.Q4_1:
		half.at = []int{0, 2}
		return half, nil
	}
	return stored{}, fmt.Errorf("tensor %s is %v, whose numbers are not known", t.Name, t.Type)
}

// bits reads a number's own bits.
func (s stored) bits(b []byte) uint32 {
	if s.width == 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return uint32(binary.LittleEndian.Uint16(b))
}

func (s stored) setBits(b []byte, bits uint32) {
	if s.width == 4 {
		binary.LittleEndian.PutUint32(b, bits)
		return
	}
	binary.LittleEndian.PutUint16(b, uint16(bits))
}

// span is how many bytes of a tensor 32 elements take: a block of a quantised
// type, 32 numbers of a plain one.
func (s stored) span(t gguf.Tensor) int {
	if elements, _ := t.Type.Block(); elements == 1 {
		return 32 * s.stride
	}
	return s.stride
}
