package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// kind is the type of a metadata value, numbered as enum gguf_type.
type kind uint32

const (
	kindUint8 kind = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
)

var kindNames = [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64"}

// kindSizes holds the bytes of a value; 0 means that it is no fixed number.
var kindSizes = [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

func (k kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("unknown type %d", uint32(k))
}

func (k kind) known() bool   { return int(k) < len(kindNames) }
func (k kind) integer() bool { return k <= kindInt32 || k == kindUint64 || k == kindInt64 }

// value is one metadata value, checked but not decoded: an array costs memory
// only when somebody asks for it.
type value struct {
	kind  kind // of the elements, for an array
	array bool
	count int    // elements; 1 for a scalar
	raw   []byte // the encoded elements
}

func (v value) String() string {
	if v.array {
		return fmt.Sprintf("array of %d × %v", v.count, v.kind)
	}
	return v.kind.String()
}

func readValue(c *cursor, key string) value {
	v := value{kind: kind(c.uint32("the type of " + key)), count: 1}
	if c.err == nil && v.kind == kindArray {
		v.array = true
		v.kind = kind(c.uint32("the element type of " + key))
		n := c.uint64("the length of " + key)
		// Each element takes at least one byte.
		if c.err == nil && n > uint64(c.left()) {
			c.fail("%s claims %d elements, but %d bytes are left: the file is cut short or damaged; fetch it again", key, n, c.left())
		}
		v.count = int(n)
	}
	// ggml refuses arrays of arrays too.
	if c.err == nil && (!v.kind.known() || v.kind == kindArray) {
		c.fail("metadata %s has a value of %v, which the format does not allow here", key, v.kind)
	}
	if c.err != nil {
		return value{}
	}
	start := c.pos
	if v.kind == kindString {
		for range v.count {
			if c.take(c.uint64("the length of a string in "+key), "a string in "+key); c.err != nil {
				return value{}
			}
		}
	} else {
		c.take(uint64(v.count)*uint64(kindSizes[v.kind]), key)
	}
	if c.err != nil {
		return value{}
	}
	v.raw = c.data[start:c.pos:c.pos]
	if v.kind == kindBool {
		for _, b := range v.raw {
			if b > 1 {
				c.fail("metadata %s has a bool of value %d", key, b)
			}
		}
	}
	return v
}

// integer decodes element i of an integer value. ok is false for a number that
// does not fit int.
func (v value) integer(i int) (n int, ok bool) {
	b := v.raw[i*kindSizes[v.kind]:]
	switch v.kind {
	case kindUint8:
		return int(b[0]), true
	case kindInt8:
		return int(int8(b[0])), true
	case kindUint16:
		return int(binary.LittleEndian.Uint16(b)), true
	case kindInt16:
		return int(int16(binary.LittleEndian.Uint16(b))), true
	case kindUint32:
		n := binary.LittleEndian.Uint32(b)
		return int(n), uint64(n) <= math.MaxInt
	case kindInt32:
		return int(int32(binary.LittleEndian.Uint32(b))), true
	case kindUint64:
		n := binary.LittleEndian.Uint64(b)
		return int(n), n <= math.MaxInt
	default:
		n := int64(binary.LittleEndian.Uint64(b))
		return int(n), n >= math.MinInt && n <= math.MaxInt
	}
}

// Keys lists the metadata keys in file order.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// find looks a key up. The error says that it has another type than wanted.
func (f *File) find(key, want string, fits func(value) bool) (value, bool, error) {
	v, ok := f.meta[key]
	if ok && !fits(v) {
		return value{}, false, fmt.Errorf("metadata %s is of type %v, not %s", key, v, want)
	}
	return v, ok, nil
}

// named puts the file's name before an error of a getter.
func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// The getters return the value of a key, whether the file has that key, and an
// error when it has it with a value of another type. An absent key is no error:
// which keys are required is known to the caller alone.

// String returns a string.
func (f *File) String(key string) (string, bool, error) {
	v, ok, err := f.find(key, "string", func(v value) bool { return v.kind == kindString && !v.array })
	if !ok {
		return "", false, f.named(err)
	}
	return string(v.raw[8:]), true, nil
}

// Int returns an integer of any width.
func (f *File) Int(key string) (int, bool, error) {
	n, ok, err := f.int(key)
	return n, ok, f.named(err)
}

func (f *File) int(key string) (int, bool, error) {
	v, ok, err := f.find(key, "an integer", func(v value) bool { return v.kind.integer() && !v.array })
	if !ok {
		return 0, false, err
	}
	n, fits := v.integer(0)
	if !fits {
		return 0, false, fmt.Errorf("metadata %s does not fit an int", key)
	}
	return n, true, nil
}

// Float returns a float32 or float64.
func (f *File) Float(key string) (float64, bool, error) {
	v, ok, err := f.find(key, "a float", func(v value) bool { return (v.kind == kindFloat32 || v.kind == kindFloat64) && !v.array })
	if !ok {
		return 0, false, f.named(err)
	}
	if v.kind == kindFloat32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw))), true, nil
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(v.raw)), true, nil
}

// Bool returns a bool.
func (f *File) Bool(key string) (bool, bool, error) {
	v, ok, err := f.find(key, "bool", func(v value) bool { return v.kind == kindBool && !v.array })
	if !ok {
		return false, false, f.named(err)
	}
	return v.raw[0] == 1, true, nil
}

// Strings returns an array of strings.
func (f *File) Strings(key string) ([]string, bool, error) {
	v, ok, err := f.find(key, "array of strings", func(v value) bool { return v.array && v.kind == kindString })
	if !ok {
		return nil, false, f.named(err)
	}
	out := make([]string, v.count)
	c := &cursor{data: v.raw}
	for i := range out {
		out[i] = c.string(key) // checked by readValue
	}
	return out, true, nil
}

// Ints returns an array of integers of any width.
func (f *File) Ints(key string) ([]int, bool, error) {
	v, ok, err := f.find(key, "array of integers", func(v value) bool { return v.array && v.kind.integer() })
	if !ok {
		return nil, false, f.named(err)
	}
	out := make([]int, v.count)
	for i := range out {
		n, fits := v.integer(i)
		if !fits {
			return nil, false, f.named(fmt.Errorf("element %d of metadata %s does not fit an int", i, key))
		}
		out[i] = n
	}
	return out, true, nil
}
