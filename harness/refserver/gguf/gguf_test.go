package gguf

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const tinyModel = "../../../fixtures/models/tiny/touchstone-tiny-f32.gguf"

// sample is a small file with every kind of metadata and two tensors.
func sample() *builder {
	return newBuilder().
		pair("s", kindString, str("héllo")).
		pair("empty", kindString, str("")).
		pair("u8", kindUint8, []byte{255}).
		pair("i8", kindInt8, []byte{255}).
		pair("i16", kindInt16, []byte{0xfe, 0xff}).
		pair("u32", kindUint32, u32(math.MaxUint32)).
		pair("i64", kindInt64, u64(math.MaxUint64)).
		pair("u64", kindUint64, u64(math.MaxUint64)).
		pair("f32", kindFloat32, f32(1e-5)).
		pair("f64", kindFloat64, u64(math.Float64bits(0.1))).
		pair("yes", kindBool, []byte{1}).
		pair("no", kindBool, []byte{0}).
		array("strings", kindString, 2, append(str("Ġ t"), str("")...)).
		array("ints", kindInt32, 3, slices.Concat(u32(1), u32(0xffffffff), u32(3))).
		array("none", kindInt32, 0, nil).
		tensor("b", F32, slices.Concat(f32(1), f32(2), f32(3), f32(4), f32(5), f32(6)), 3, 2).
		tensor("a", F32, f32(-7), 1)
}

func mustParse(t *testing.T, data []byte) *File {
	t.Helper()
	f, err := Parse(data, "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGetters(t *testing.T) {
	f := mustParse(t, sample().bytes())
	check := func(key string, got any, ok bool, err error, want any) {
		t.Helper()
		if err != nil || !ok || got != want {
			t.Errorf("%s = %v, %v, %v; want %v", key, got, ok, err, want)
		}
	}
	s, ok, err := f.String("s")
	check("s", s, ok, err, "héllo")
	s, ok, err = f.String("empty")
	check("empty", s, ok, err, "")
	for key, want := range map[string]int{"u8": 255, "i8": -1, "i16": -2, "u32": math.MaxUint32, "i64": -1} {
		n, ok, err := f.Int(key)
		check(key, n, ok, err, want)
	}
	x, ok, err := f.Float("f32")
	check("f32", x, ok, err, float64(float32(1e-5)))
	x, ok, err = f.Float("f64")
	check("f64", x, ok, err, 0.1)
	b, ok, err := f.Bool("yes")
	check("yes", b, ok, err, true)
	b, ok, err = f.Bool("no")
	check("no", b, ok, err, false)
	if v, ok, err := f.Strings("strings"); !ok || err != nil || !slices.Equal(v, []string{"Ġ t", ""}) {
		t.Errorf("strings = %q, %v, %v", v, ok, err)
	}
	if v, ok, err := f.Ints("ints"); !ok || err != nil || !slices.Equal(v, []int{1, -1, 3}) {
		t.Errorf("ints = %v, %v, %v", v, ok, err)
	}
	if v, ok, err := f.Ints("none"); !ok || err != nil || len(v) != 0 {
		t.Errorf("none = %v, %v, %v", v, ok, err)
	}
}

func TestGetterErrors(t *testing.T) {
	f := mustParse(t, sample().bytes())
	if _, ok, err := f.String("absent"); ok || err != nil {
		t.Errorf("an absent key: ok %v, err %v; want neither", ok, err)
	}
	_, _, wrongString := f.String("u8")
	_, _, wrongInt := f.Int("s")
	_, _, wrongFloat := f.Float("u8")
	_, _, wrongBool := f.Bool("u8")
	_, _, wrongStrings := f.Strings("ints")
	_, _, wrongInts := f.Ints("strings")
	_, _, scalarAsArray := f.Ints("u8")
	_, _, arrayAsScalar := f.Int("ints")
	_, _, tooLarge := f.Int("u64")
	for _, c := range []struct {
		err  error
		want string
	}{
		{wrongString, "m.gguf: metadata u8 is of type uint8, not string"},
		{wrongInt, "m.gguf: metadata s is of type string, not an integer"},
		{wrongFloat, "m.gguf: metadata u8 is of type uint8, not a float"},
		{wrongBool, "m.gguf: metadata u8 is of type uint8, not bool"},
		{wrongStrings, "m.gguf: metadata ints is of type array of 3 × int32, not array of strings"},
		{wrongInts, "m.gguf: metadata strings is of type array of 2 × string, not array of integers"},
		{scalarAsArray, "m.gguf: metadata u8 is of type uint8, not array of integers"},
		{arrayAsScalar, "m.gguf: metadata ints is of type array of 3 × int32, not an integer"},
		{tooLarge, "m.gguf: metadata u64 does not fit an int"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
}

func TestTensors(t *testing.T) {
	f := mustParse(t, sample().bytes())
	tensors := f.Tensors()
	if len(tensors) != 2 || tensors[0].Name != "b" || tensors[1].Name != "a" {
		t.Fatalf("tensors %v, want b then a, as in the file", tensors)
	}
	if !slices.Equal(tensors[0].Shape, []int{2, 3}) || tensors[0].Len() != 6 {
		t.Errorf("shape %v, want [2 3]: the file counts the innermost dimension first", tensors[0].Shape)
	}
	tensors[0].Shape[0] = 99
	x, shape, err := f.Float32("b")
	if err != nil || !slices.Equal(shape, []int{2, 3}) || !slices.Equal(x, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("b = %v, shape %v, %v", x, shape, err)
	}
	if x, _, err := f.Float32("a"); err != nil || !slices.Equal(x, []float32{-7}) {
		t.Errorf("a = %v, %v", x, err)
	}
	if _, _, err := f.Float32("c"); err == nil || !strings.Contains(err.Error(), `m.gguf: no tensor named "c"`) {
		t.Errorf("an absent tensor: %v", err)
	}
	if f.Has("c") || !f.Has("a") {
		t.Error("Has tells the wrong tensors")
	}
}

func TestAlignmentAndVersion2(t *testing.T) {
	b := newBuilder().pair(alignmentKey, kindUint32, u32(64))
	b.alignment, b.version = 64, 2
	b.tensor("a", F32, f32(1), 1).tensor("b", F32, f32(2), 1)
	f := mustParse(t, b.bytes())
	if x, _, err := f.Float32("b"); err != nil || x[0] != 2 || f.Version() != 2 {
		t.Errorf("b = %v, %v; version %d", x, err, f.Version())
	}
}

func TestRefusals(t *testing.T) {
	odd := newBuilder().pair(alignmentKey, kindUint32, u32(24)).tensor("a", F32, f32(1), 1)
	v1, v3be, v4 := newBuilder(), newBuilder(), newBuilder()
	v1.version, v3be.version, v4.version = 1, 3<<24, 4
	many := newBuilder()
	many.tensors, many.pairs = 1<<60, 0
	for want, b := range map[string]*builder{
		"version 1;":   v1,
		"big-endian":   v3be,
		"version 4;":   v4,
		"not a power":  odd,
		"stands twice": newBuilder().pair("k", kindBool, []byte{1}).pair("k", kindBool, []byte{1}),
		`tensor name "a" is empty or stands twice`: newBuilder().tensor("a", F32, f32(1), 1).tensor("a", F32, f32(1), 1),
		"cut short":                  many,
		"has a bool of value 7":      newBuilder().pair("k", kindBool, []byte{7}),
		"unknown type 77":            newBuilder().pair("k", 77, nil),
		"value of array":             newBuilder().array("k", kindArray, 1, u64(0)),
		"claims 1152921504606846976": newBuilder().array("k", kindString, 1<<60, nil),
		"is of type Q6_K; the types read are F32, F16, Q4_0, Q4_1, Q8_0, BF16": newBuilder().info("a", 14, 0, 256),
		"is of type 1000;":                             newBuilder().info("a", 1000, 0, 256),
		"which Q8_0 blocks of 32 do not fill":          newBuilder().info("a", Q8_0, 0, 33, 32),
		"has 0 dimensions":                             newBuilder().info("a", F32, 0),
		"has 5 dimensions":                             newBuilder().info("a", F32, 0, 1, 1, 1, 1, 1),
		"has a dimension of 0":                         newBuilder().info("a", F32, 0, 4, 0),
		"has a dimension of 2147483647":                newBuilder().info("a", F32, 0, math.MaxInt32, math.MaxInt32, math.MaxInt32),
		"lie outside the file":                         newBuilder().info("a", F32, 0, 1<<30),
		"no multiple of the alignment":                 newBuilder().info("a", F32, 4, 1).tensor("b", F32, make([]byte, 64), 16),
		"takes bytes 32 to 96 of a data section of 64": newBuilder().info("a", F32, 32, 16).tensor("b", F32, make([]byte, 64), 16),
	} {
		_, err := Parse(b.bytes(), "m.gguf")
		if err == nil || !strings.HasPrefix(err.Error(), "m.gguf: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := Parse([]byte("<html>"), "m.gguf"); err == nil || !strings.Contains(err.Error(), `not a GGUF file: it starts with "<htm"`) {
		t.Errorf("not a GGUF file: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent.gguf")); err == nil || !strings.Contains(err.Error(), "absent.gguf") {
		t.Errorf("an absent file: %v", err)
	}
}

// Every proper prefix of a file lacks something, and the reader says so.
func TestTruncation(t *testing.T) {
	data := sample().bytes()
	for n := range len(data) {
		if _, err := Parse(data[:n:n], "m.gguf"); err == nil {
			t.Fatalf("a file of %d bytes cut to %d is accepted", len(data), n)
		}
	}
	mustParse(t, data)
}

// The card of the model gives its shapes and says that each layer lists K and
// V before Q, as the founding build's file did.
func TestTinyModel(t *testing.T) {
	f, err := Open(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	parameters := 0
	for _, tensor := range f.Tensors() {
		names = append(names, tensor.Name)
		parameters += tensor.Len()
		x, shape, err := f.Float32(tensor.Name)
		if err != nil || len(x) != tensor.Len() || !slices.Equal(shape, tensor.Shape) {
			t.Fatalf("%s: %d elements of shape %v, %v", tensor.Name, len(x), shape, err)
		}
		for i, v := range x {
			if math.IsNaN(float64(v)) || math.Abs(float64(v)) > 100 {
				t.Fatalf("%s[%d] = %v is no trained weight", tensor.Name, i, v)
			}
		}
	}
	if parameters != 1_000_576 {
		t.Errorf("%d parameters, want 1,000,576", parameters)
	}
	k, v, q := slices.Index(names, "blk.0.attn_k.weight"), slices.Index(names, "blk.0.attn_v.weight"), slices.Index(names, "blk.0.attn_q.weight")
	if !(0 <= k && k < v && v < q) {
		t.Errorf("K, V, Q of layer 0 at %d, %d, %d; the file lists them in this order", k, v, q)
	}
	if _, shape, _ := f.Float32("token_embd.weight"); !slices.Equal(shape, []int{2048, 128}) {
		t.Errorf("token_embd.weight is %v, want [2048 128]", shape)
	}
	if eps, ok, err := f.Float("llama.attention.layer_norm_rms_epsilon"); !ok || err != nil || eps != float64(float32(1e-5)) {
		t.Errorf("rms epsilon %v, %v, %v", eps, ok, err)
	}
}

func FuzzParse(f *testing.F) {
	data := sample().bytes()
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(newBuilder().bytes())
	f.Add(newBuilder().array("k", kindString, 1<<40, nil).bytes())
	f.Add(newBuilder().info("a", Q4_1, math.MaxUint64-31, 32, 1<<30).bytes())
	f.Add(newBuilder().tensor("a", Q8_0, make([]byte, 34), 32).bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		for _, key := range file.Keys() {
			file.String(key)
			file.Int(key)
			file.Float(key)
			file.Bool(key)
			file.Strings(key)
			file.Ints(key)
		}
		for _, tensor := range file.Tensors() {
			// 4 bytes an element; the densest format packs 32 elements into 18 bytes.
			if tensor.Len()*18 > len(data)*32 {
				t.Fatalf("tensor of %d elements from %d bytes", tensor.Len(), len(data))
			}
			if _, _, err := file.Float32(tensor.Name); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkOpenTiny(b *testing.B) {
	data, err := os.ReadFile(tinyModel)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Parse(data, tinyModel); err != nil {
			b.Fatal(err)
		}
	}
}
