// Package ggufedit changes GGUF bytes for tests: another order of the tensors,
// other metadata. It is [gguf.Edit] over bytes; a change that cannot be made is
// a mistake of the test and panics.
package ggufedit

import (
	"bytes"
	"fmt"

	"touchstone/harness/refserver/gguf"
)

func edit(data []byte, change func(*gguf.Edit)) []byte {
	f, err := gguf.Parse(data, "a test's model")
	if err != nil {
		panic(fmt.Sprintf("ggufedit: %v", err))
	}
	e := f.Edit()
	change(e)
	var out bytes.Buffer
	if _, err := e.WriteTo(&out); err != nil {
		panic(fmt.Sprintf("ggufedit: %v", err))
	}
	return out.Bytes()
}

// Order returns a copy of data in which the named tensors are listed in the
// order of names.
func Order(data []byte, names ...string) []byte {
	return edit(data, func(e *gguf.Edit) { e.Order(names...) })
}

// Rename returns a copy of data with another name of a key or tensor.
func Rename(data []byte, from, to string) []byte {
	return edit(data, func(e *gguf.Edit) { e.Rename(from, to) })
}

// SetUint32 returns a copy of data with another value of an integer key.
func SetUint32(data []byte, key string, v uint32) []byte {
	return edit(data, func(e *gguf.Edit) { e.SetUint32(key, v) })
}

// SetFloat32 returns a copy of data with another value of a float key.
func SetFloat32(data []byte, key string, v float32) []byte {
	return edit(data, func(e *gguf.Edit) { e.SetFloat32(key, v) })
}

// AddString returns a copy of data with a string more.
func AddString(data []byte, key, value string) []byte {
	return edit(data, func(e *gguf.Edit) { e.SetString(key, value) })
}

// AddFloat32 returns a copy of data with a float more.
func AddFloat32(data []byte, key string, v float32) []byte { return SetFloat32(data, key, v) }

// AddUint32 returns a copy of data with an integer more.
func AddUint32(data []byte, key string, v uint32) []byte { return SetUint32(data, key, v) }
