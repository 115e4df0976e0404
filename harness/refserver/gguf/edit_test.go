package gguf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func written(t *testing.T, e *Edit) []byte {
	t.Helper()
	var out bytes.Buffer
	n, err := e.WriteTo(&out)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(out.Len()) {
		t.Errorf("%d bytes are told, %d were written", n, out.Len())
	}
	return out.Bytes()
}

func tiny(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A copy without changes is the file, with the header copied and with the header
// written anew.
func TestEditRoundTrip(t *testing.T) {
	v2 := sample()
	v2.version = 2
	wide := newBuilder()
	wide.alignment = 128
	wide.pair(alignmentKey, kindUint32, u32(128)).pair("longer than 128 bytes in all", kindUint8, []byte{1}).tensor("a", F32, f32(1), 1).tensor("b", F32, f32(2), 1)
	for name, data := range map[string][]byte{
		"tiny": tiny(t), "every kind": sample().bytes(), "version 2": v2.bytes(), "alignment 128": wide.bytes(),
		"bytes behind the last tensor": append(sample().bytes(), "tail"...), "no tensors": newBuilder().pair("u8", kindUint8, []byte{1}).bytes(),
	} {
		e := mustParse(t, data).Edit()
		if got := written(t, e); !bytes.Equal(got, data) {
			t.Errorf("%s: the copy differs", name)
		}
		if tensors, header := e.Changed(); len(tensors) > 0 || header {
			t.Errorf("%s: %v and header %v are said to have changed", name, tensors, header)
		}
		e.header = true
		if got := written(t, e); !bytes.Equal(got, data) {
			t.Errorf("%s: with a new header, the copy differs", name)
		}
	}
}

func TestEditMetadata(t *testing.T) {
	f := mustParse(t, sample().bytes())
	e := f.Edit()
	e.SetString("s", "a longer text than before")
	e.SetFloat32("u32", 2.5) // another type
	e.SetUint32("new", 7)
	e.SetStrings("strings", []string{"x", "", "z"})
	e.Rename("i8", "i8.renamed")
	got := mustParse(t, written(t, e))
	if s, _, err := got.String("s"); s != "a longer text than before" || err != nil {
		t.Errorf("s = %q, %v", s, err)
	}
	if x, _, err := got.Float("u32"); x != 2.5 || err != nil {
		t.Errorf("u32 = %g, %v", x, err)
	}
	if n, _, err := got.Int("new"); n != 7 || err != nil {
		t.Errorf("new = %d, %v", n, err)
	}
	if s, _, err := got.Strings("strings"); !slices.Equal(s, []string{"x", "", "z"}) || err != nil {
		t.Errorf("strings = %q, %v", s, err)
	}
	want := f.Keys()
	want[slices.Index(want, "i8")] = "i8.renamed"
	if !slices.Equal(got.Keys(), append(want, "new")) {
		t.Errorf("keys are %v", got.Keys())
	}
	for _, name := range []string{"a", "b"} {
		before, _ := f.Raw(name)
		if after, err := got.Raw(name); err != nil || !bytes.Equal(before, after) {
			t.Errorf("tensor %s changed, %v", name, err)
		}
	}
	if _, header := e.Changed(); !header {
		t.Error("the header is said to be the same")
	}
	same := f.Edit()
	if same.SetString("s", "héllo"); same.header {
		t.Error("setting the value that is there changes the header")
	}
}

func TestEditTensors(t *testing.T) {
	f := mustParse(t, sample().bytes())
	e := f.Edit()
	e.Order("a", "b")
	e.Rename("a", "alpha")
	e.Patch("b", func(raw []byte) error { copy(raw[4:], f32(20)); return nil })
	e.Patch("b", func(raw []byte) error { copy(raw[8:], raw[4:8]); return nil }) // sees the first patch
	e.Patch("a", func([]byte) error { return nil })
	got := mustParse(t, written(t, e))
	if ts := got.Tensors(); ts[0].Name != "alpha" || ts[1].Name != "b" {
		t.Errorf("tensors are listed as %v", ts)
	}
	if x, shape, err := got.Float32("b"); err != nil || !slices.Equal(x, []float32{1, 20, 20, 4, 5, 6}) || !slices.Equal(shape, []int{2, 3}) {
		t.Errorf("b = %v %v, %v", x, shape, err)
	}
	if x, _, err := got.Float32("alpha"); err != nil || x[0] != -7 {
		t.Errorf("alpha = %v, %v", x, err)
	}
	if changed, _ := e.Changed(); !slices.Equal(changed, []string{"b"}) {
		t.Errorf("changed are %v", changed)
	}
}

func TestEditErrors(t *testing.T) {
	for want, change := range map[string]func(*Edit){
		`no tensor "z" to change`:              func(e *Edit) { e.Patch("z", nil) },
		`no tensor "z" to put in order`:        func(e *Edit) { e.Order("a", "z") },
		`no tensor "a" to put in order, or`:    func(e *Edit) { e.Order("a", "a") },
		`no key or tensor "z" to rename`:       func(e *Edit) { e.Rename("z", "y") },
		`there is a tensor "b" already`:        func(e *Edit) { e.Rename("a", "b") },
		`there is a key "u32" already`:         func(e *Edit) { e.Rename("u8", "u32") },
		"general.alignment cannot be changed":  func(e *Edit) { e.SetUint32(alignmentKey, 64) },
		"m.gguf: tensor a: out of cheese":      func(e *Edit) { e.Patch("a", func([]byte) error { return errors.New("out of cheese") }) },
		`the data of tensor "b" overlaps that`: overlapping,
	} {
		e := mustParse(t, sample().bytes()).Edit()
		if change(e); e.f.whole == nil {
			t.Fatal("not from memory")
		}
		if _, err := e.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error with %q", err, want)
		}
	}
}

// overlapping makes the edit one of a file whose tensors share their data.
func overlapping(e *Edit) {
	f, err := Parse(newBuilder().tensor("a", F32, f32(1), 1).info("b", F32, 0, 1).bytes(), "m.gguf")
	if err != nil {
		panic(err)
	}
	*e = *f.Edit()
	for _, name := range []string{"a", "b"} {
		e.Patch(name, func([]byte) error { return nil })
	}
}

// A writer that fails ends the copy with its error.
func TestEditWriterFails(t *testing.T) {
	full := errors.New("disk full")
	_, err := mustParse(t, sample().bytes()).Edit().WriteTo(writerFunc(func([]byte) (int, error) { return 0, full }))
	if !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
