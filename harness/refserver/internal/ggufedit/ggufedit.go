// Package ggufedit changes GGUF bytes for tests: another order of the tensors,
// other metadata. It knows just enough of the format for the tiny model.
package ggufedit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

func text(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

func mustFind(data []byte, name string) int {
	i := bytes.Index(data, text(name))
	if i < 0 {
		panic(fmt.Sprintf("ggufedit: the file has no %q", name))
	}
	return i
}

// Order returns a copy of data in which the records of the named tensors, which
// must stand one after the other, are listed in the order of names.
func Order(data []byte, names ...string) []byte {
	out := slices.Clone(data)
	first, total := len(data), 0
	var records []byte
	for _, name := range names {
		at := mustFind(data, name)
		dims := at + 8 + len(name)
		n := 8 + len(name) + 4 + 8*int(binary.LittleEndian.Uint32(data[dims:])) + 4 + 8
		records = append(records, data[at:at+n]...)
		first, total = min(first, at), total+n
	}
	copy(out[first:first+total], records)
	return out
}

// Rename returns a copy of data with another name of the same length in place
// of a key's or tensor's.
func Rename(data []byte, from, to string) []byte {
	if len(from) != len(to) {
		panic("ggufedit: names must be of one length")
	}
	out := slices.Clone(data)
	copy(out[mustFind(data, from)+8:], to)
	return out
}

// SetUint32 returns a copy of data with another value of an integer key.
func SetUint32(data []byte, key string, v uint32) []byte {
	out := slices.Clone(data)
	binary.LittleEndian.PutUint32(out[mustFind(data, key)+8+len(key)+4:], v)
	return out
}

// SetFloat32 returns a copy of data with another value of a float key.
func SetFloat32(data []byte, key string, v float32) []byte {
	return SetUint32(data, key, math.Float32bits(v))
}

// AddString returns a copy of data with one key more. Nothing moves: the pair
// takes the place of general.description, whose remainder becomes a filler.
func AddString(data []byte, key, value string) []byte {
	return add(data, key, append([]byte{8, 0, 0, 0}, text(value)...))
}

// AddFloat32 is AddString for a float.
func AddFloat32(data []byte, key string, v float32) []byte {
	return add(data, key, binary.LittleEndian.AppendUint32([]byte{6, 0, 0, 0}, math.Float32bits(v)))
}

// AddUint32 is AddString for an integer.
func AddUint32(data []byte, key string, v uint32) []byte {
	return add(data, key, binary.LittleEndian.AppendUint32([]byte{4, 0, 0, 0}, v))
}

func add(data []byte, key string, typeAndValue []byte) []byte {
	const place, filler = "general.description", "f"
	out := slices.Clone(data)
	at := mustFind(data, place)
	value := at + 8 + len(place) + 4
	room := 8 + len(place) + 4 + 8 + int(binary.LittleEndian.Uint64(data[value:]))
	pair := append(text(key), typeAndValue...)
	rest := room - len(pair) - (8 + len(filler) + 4 + 8)
	if rest < 0 {
		panic("ggufedit: the new pair is longer than general.description")
	}
	pair = append(append(append(pair, text(filler)...), 8, 0, 0, 0), text(string(make([]byte, rest)))...)
	copy(out[at:], pair)
	const count = 16 // magic, version, tensors
	binary.LittleEndian.PutUint64(out[count:], binary.LittleEndian.Uint64(out[count:])+1)
	return out
}
