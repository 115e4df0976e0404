package gguf

import (
	"encoding/binary"
	"math"
	"testing"
)

// All 65,536 halves against their definition: (-1)^s · 2^(e-15) · (1 + f/1024),
// and (-1)^s · 2^-14 · f/1024 for e = 0.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		e, f := h>>10&31, float64(h&1023)
		var want float64
		switch e {
		case 0:
			want = math.Ldexp(f/1024, -14)
		case 31:
			want = math.Inf(1)
			if f != 0 {
				want = math.NaN()
			}
		default:
			want = math.Ldexp(1+f/1024, e-15)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(half(binary.LittleEndian.AppendUint16(nil, uint16(h))))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) && !math.IsNaN(want) {
			t.Fatalf("half %#04x = %v, want %v", h, got, want)
		}
	}
}

// Halves used below: 0x3800 = 0.5, 0xbc00 = -1, 0x3400 = 0.25.
func TestDecodeBlocks(t *testing.T) {
	nibbles := make([]byte, 16) // element i is i, element 16+i is 15-i
	for i := range nibbles {
		nibbles[i] = byte(i | (15-i)<<4)
	}
	bytes := make([]byte, 32) // element i is i-16
	for i := range bytes {
		bytes[i] = byte(int8(i - 16))
	}
	nibble := func(i int) float32 {
		if i < 16 {
			return float32(i)
		}
		return float32(15 - (i - 16))
	}
	for _, c := range []struct {
		typ  Type
		raw  []byte
		want func(i int) float32
	}{
		{Q4_0, append([]byte{0x00, 0x38}, nibbles...), func(i int) float32 { return 0.5 * (nibble(i) - 8) }},
		{Q4_1, append([]byte{0x00, 0x38, 0x00, 0xbc}, nibbles...), func(i int) float32 { return 0.5*nibble(i) - 1 }},
		{Q8_0, append([]byte{0x00, 0x34}, bytes...), func(i int) float32 { return 0.25 * float32(i-16) }},
	} {
		// A block of zeros first: the second block must be found at its place.
		raw := append(make([]byte, formats[c.typ].bytes), c.raw...)
		x, _, err := mustParse(t, newBuilder().tensor("x", c.typ, raw, 32, 2).bytes()).Float32("x")
		if err != nil || len(x) != 64 {
			t.Fatalf("%v: %d elements, %v", c.typ, len(x), err)
		}
		for i := range 32 {
			if x[i] != 0 || x[32+i] != c.want(i) {
				t.Errorf("%v: elements %d and %d are %v and %v, want 0 and %v", c.typ, i, 32+i, x[i], x[32+i], c.want(i))
			}
		}
	}
}

func TestDecodeHalves(t *testing.T) {
	f := mustParse(t, newBuilder().
		tensor("f16", F16, []byte{0x00, 0x38, 0x00, 0xbc}, 2).
		tensor("bf16", BF16, []byte{0x80, 0x3f, 0x49, 0xc0}, 2). // the upper halves of float32 1 and -3.140625
		bytes())
	for name, want := range map[string][2]float32{"f16": {0.5, -1}, "bf16": {1, -3.140625}} {
		if x, _, err := f.Float32(name); err != nil || [2]float32(x) != want {
			t.Errorf("%s = %v, %v; want %v", name, x, err, want)
		}
	}
}

// Every half survives, and what lies between two goes to the nearer one, or to
// the even one.
func TestFloat16Bits(t *testing.T) {
	for h := range uint32(0x7c00) {
		low, high := Float16(uint16(h)), Float16(uint16(h+1))
		if h == 0x7bff {
			high = 65536 // where the number after the largest one would lie
		}
		even := h + h&1
		for v, want := range map[float32]uint32{
			low:                                      h,
			low + (high-low)/2:                       even,
			math.Nextafter32(low+(high-low)/2, 0):    h,
			math.Nextafter32(low+(high-low)/2, high): h + 1,
		} {
			if got, negative := Float16Bits(v), Float16Bits(-v); uint32(got) != want || uint32(negative) != want|0x8000 {
				t.Fatalf("%g is %#04x and %g is %#04x, want %#04x and the same with the sign", v, got, -v, negative, want)
			}
		}
	}
	inf := float32(math.Inf(1))
	if Float16Bits(inf) != 0x7c00 || Float16Bits(-inf) != 0xfc00 || Float16Bits(math.MaxFloat32) != 0x7c00 {
		t.Error("infinity is not infinite")
	}
	if nan := Float16(Float16Bits(float32(math.NaN()))); nan == nan {
		t.Error("NaN is a number")
	}
}
