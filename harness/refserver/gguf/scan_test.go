package gguf

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

// counting tells how far a file was read.
type counting struct {
	io.ReaderAt
	furthest int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.furthest = max(c.furthest, off+int64(n))
	return n, err
}

// A scanned file tells what a parsed one tells.
func TestScan(t *testing.T) {
	data := tiny(t)
	whole := mustParse(t, data)
	src := &counting{ReaderAt: bytes.NewReader(data)}
	f, err := Scan(src, int64(len(data)), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if src.furthest > headerStep {
		t.Errorf("%d bytes were read for a header that ends before %d", src.furthest, headerStep)
	}
	if !slices.Equal(f.Keys(), whole.Keys()) || len(f.Tensors()) != len(whole.Tensors()) {
		t.Error("the header is read differently")
	}
	for _, tensor := range whole.Tensors() {
		want, _, err := whole.Float32(tensor.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got, shape, err := f.Float32(tensor.Name); err != nil || !slices.Equal(got, want) || !slices.Equal(shape, tensor.Shape) {
			t.Errorf("%s is read differently: %v", tensor.Name, err)
		}
	}
	if got := written(t, f.Edit()); !bytes.Equal(got, data) {
		t.Error("the copy differs")
	}
}

// A header that is longer than one step is read in several; what was read first
// stays valid.
func TestScanLongHeader(t *testing.T) {
	long := strings.Repeat("x", 2*headerStep)
	data := newBuilder().pair("first", kindString, str("one")).pair("long", kindString, str(long)).
		pair("last", kindString, str("three")).tensor("a", F32, f32(5), 1).bytes()
	f, err := Scan(bytes.NewReader(data), int64(len(data)), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"first": "one", "long": long, "last": "three"} {
		if s, ok, err := f.String(key); s != want || !ok || err != nil {
			t.Errorf("%s has %d bytes, %v, %v", key, len(s), ok, err)
		}
	}
}

func TestScanErrors(t *testing.T) {
	data := sample().bytes()
	for n := range data {
		parsed, want := Parse(data[:n], "m.gguf")
		scanned, err := Scan(bytes.NewReader(data[:n]), int64(n), "m.gguf")
		if (parsed == nil) != (scanned == nil) || want != nil && err.Error() != want.Error() {
			t.Fatalf("cut to %d bytes: %v when scanned, %v when parsed", n, err, want)
		}
	}
	// The file became shorter after its size was asked for.
	if _, err := Scan(bytes.NewReader(data[:40]), int64(len(data)), "m.gguf"); err == nil || !strings.Contains(err.Error(), "reading the header") {
		t.Errorf("a file that became shorter: %v", err)
	}
	f, err := Scan(bytes.NewReader(data), int64(len(data)), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f.src = bytes.NewReader(data[:len(data)-1])
	if _, err := f.Raw("a"); err == nil || !strings.Contains(err.Error(), `reading tensor "a"`) {
		t.Errorf("a tensor that is cut short: %v", err)
	}
	// A string that claims to be longer than any header.
	hostile := slices.Concat([]byte(magic), u32(3), u64(0), u64(1), u64(maxHeader))
	if _, err := Scan(endless{hostile}, 1<<40, "m.gguf"); err == nil || !strings.Contains(err.Error(), "header is longer than") {
		t.Errorf("a hostile length: %v", err)
	}
}

// endless is a file of zeros behind a beginning.
type endless struct{ beginning []byte }

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(e.beginning)) {
		copy(p, e.beginning[off:])
	}
	return len(p), nil
}
