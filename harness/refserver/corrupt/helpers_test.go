package corrupt

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver/fault"
	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/llama"
)

const tinyModel = "../../../fixtures/models/tiny/touchstone-tiny-f32.gguf"

func tinyBytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, data []byte) *gguf.File {
	t.Helper()
	f, err := gguf.Parse(data, "tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// typed is the tiny model with its matrices stored in other types. Vectors stay
// F32, as llama-quantize leaves them.
func typed(t testing.TB, typeOf func(tensor string) gguf.Type) []byte {
	t.Helper()
	data := tinyBytes(t)
	f := parse(t, data)
	tensors := f.Tensors()
	// Header and metadata end where the first tensor's record begins.
	out := slices.Clone(data[:bytes.Index(data, text(tensors[0].Name))])
	var section []byte
	for _, tensor := range tensors {
		x, shape, err := f.Float32(tensor.Name)
		if err != nil {
			t.Fatal(err)
		}
		typ := gguf.F32
		if len(shape) > 1 {
			typ = typeOf(tensor.Name)
		}
		out = append(out, text(tensor.Name)...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(shape)))
		for _, d := range slices.Backward(shape) {
			out = binary.LittleEndian.AppendUint64(out, uint64(d))
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(typ))
		out = binary.LittleEndian.AppendUint64(out, uint64(len(section)))
		section = pad(append(section, encode(t, typ, x)...))
	}
	return append(pad(out), section...)
}

func all(typ gguf.Type) func(string) gguf.Type { return func(string) gguf.Type { return typ } }

func text(s string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...)
}

func pad(b []byte) []byte { return append(b, make([]byte, (32-len(b)%32)%32)...) }

// encode quantises as the reference functions of ggml-quants.c do: Q8_0 by the
// largest magnitude over 127, Q4_1 by the range over 15.
func encode(t testing.TB, typ gguf.Type, x []float32) []byte {
	var out []byte
	half := func(v float32) { out = binary.LittleEndian.AppendUint16(out, gguf.Float16Bits(v)) }
	switch typ {
	case gguf.F32:
		for _, v := range x {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	case gguf.F16:
		for _, v := range x {
			half(v)
		}
	case gguf.Q8_0:
		for block := range slices.Chunk(x, 32) {
			d := max(slices.Max(block), -slices.Min(block)) / 127
			half(d)
			for _, v := range block {
				out = append(out, byte(int8(math.Round(float64(v/d)))))
			}
		}
	case gguf.Q4_1:
		for block := range slices.Chunk(x, 32) {
			low := slices.Min(block)
			d := (slices.Max(block) - low) / 15
			half(d)
			half(low)
			q := func(v float32) byte { return byte(min(15, (v-low)/d+0.5)) }
			for i := range 16 {
				out = append(out, q(block[i])|q(block[16+i])<<4)
			}
		}
	default:
		t.Fatalf("no encoder for %v", typ)
	}
	return out
}

// apply returns the copy with the fault, and checks what holds for every fault:
// the result names the tensors that differ and no others, the header changed
// only if it says so, the bytes outside the tensors are the original's, and the
// same spec gives the same bytes again.
func apply(t testing.TB, spec string, data []byte) ([]byte, Result) {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	healthy := parse(t, data)
	var out, again bytes.Buffer
	r, err := s.Write(&out, healthy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(&again, parse(t, data)); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("%s: written twice, the copies differ (%v)", spec, err)
	}
	bad := parse(t, out.Bytes())
	if !slices.Equal(names(bad), names(healthy)) || !slices.Equal(bad.Keys(), healthy.Keys()) && !r.Header {
		t.Errorf("%s: the copy lists other tensors or keys", spec)
	}
	section := 0
	for _, tensor := range healthy.Tensors() {
		before, after := raw(t, healthy, tensor.Name), raw(t, bad, tensor.Name)
		if bytes.Equal(before, after) == slices.Contains(r.Changed, tensor.Name) {
			t.Errorf("%s: %s is wrongly said to be changed, or not to be", spec, tensor.Name)
		}
		section += len(before)
	}
	if int64(out.Len()) != r.Bytes || r.Tensors != len(healthy.Tensors()) {
		t.Errorf("%s: the result tells of %d bytes and %d tensors; there are %d and %d", spec, r.Bytes, r.Tensors, out.Len(), len(healthy.Tensors()))
	}
	if !r.Header {
		if out.Len() != len(data) || !bytes.Equal(out.Bytes()[:headerSize(t, data)], data[:headerSize(t, data)]) {
			t.Errorf("%s: the header differs, or the size", spec)
		}
	}
	return out.Bytes(), r
}

// headerSize is where the data section begins: it fills the rest of the file,
// and each tensor ends at a multiple of 32.
func headerSize(t testing.TB, data []byte) int {
	t.Helper()
	size := len(data)
	for _, tensor := range parse(t, data).Tensors() {
		size -= (tensor.Size() + 31) / 32 * 32
	}
	return size
}

func names(f *gguf.File) []string {
	var out []string
	for _, t := range f.Tensors() {
		out = append(out, t.Name)
	}
	return out
}

func raw(t testing.TB, f *gguf.File, tensor string) []byte {
	t.Helper()
	b, err := f.Raw(tensor)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rowsOf returns the rows of a tensor as strings of bytes, which compare easily.
func rowsOf(t testing.TB, f *gguf.File, tensor string) []string {
	t.Helper()
	d, err := f.Tensor(tensor)
	if err != nil {
		t.Fatal(err)
	}
	rows, size, err := rowSize(d)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for row := range slices.Chunk(raw(t, f, tensor), size) {
		out = append(out, string(row))
	}
	if len(out) != rows {
		t.Fatalf("%s: %d rows of %d bytes, want %d", tensor, len(out), size, rows)
	}
	return out
}

// everyType runs a test on the tiny model in F32, F16, Q8_0 and Q4_1: the copy
// loads, and computes something else.
func everyType(t *testing.T, spec string, check func(t *testing.T, healthy, bad *gguf.File, r Result)) {
	t.Helper()
	for _, typ := range []gguf.Type{gguf.F32, gguf.F16, gguf.Q8_0, gguf.Q4_1} {
		t.Run(typ.String(), func(t *testing.T) {
			data := typed(t, all(typ))
			copied, r := apply(t, spec, data)
			if d := distance(logits(t, data), logits(t, copied)); d == 0 {
				t.Errorf("%s: the copy computes the same", spec)
			}
			check(t, parse(t, data), parse(t, copied), r)
		})
	}
}

// A prompt in the tiny model's tokens: "What is the capital of Norway".
var prompt = []int32{1, 1168, 309, 265, 1383, 323, 487, 280, 92, 383}

// logits loads a model, with faults of the reference server if any are named,
// and returns the logits after the prompt.
func logits(t testing.TB, data []byte, faults ...string) []float32 {
	t.Helper()
	return logitsAfter(t, data, prompt, faults...)
}

func logitsAfter(t testing.TB, data []byte, ids []int32, faults ...string) []float32 {
	t.Helper()
	f := parse(t, data)
	var hooks llama.Hooks
	for _, spec := range faults {
		s, err := fault.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Install(&hooks, f); err != nil {
			t.Fatal(err)
		}
	}
	m, err := llama.Load(f, &hooks)
	if err != nil {
		t.Fatal(err)
	}
	s := &llama.Seq{Blocks: []int32{0}}
	var rows []llama.Row
	for i, id := range ids {
		rows = append(rows, llama.Row{Seq: s, Token: id, Pos: i, Logits: i == len(ids)-1})
	}
	out := make([]float32, m.Config().Vocab)
	m.Forward(rows, llama.NewPool(m, 1), out)
	return out
}

// distance is the largest difference between the log-probabilities of two sets
// of logits, in nats, over the 20 likeliest tokens of the first. It is infinite
// when one of them has no log-probabilities.
func distance(a, b []float32) float64 {
	top := make([]int, len(a))
	for i := range top {
		top[i] = i
	}
	slices.SortFunc(top, func(i, j int) int {
		if a[i] > a[j] {
			return -1
		}
		return 1
	})
	na, nb := norm(a), norm(b)
	worst := 0.0
	for _, i := range top[:20] {
		d := math.Abs((float64(a[i]) - na) - (float64(b[i]) - nb))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

// norm is ln Σ exp x.
func norm(x []float32) float64 {
	top := float64(slices.Max(x))
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	return top + math.Log(sum)
}

// refused checks that a fault cannot be put into a file, and that the error says
// the parts.
func refused(t *testing.T, spec string, data []byte, parts ...string) {
	t.Helper()
	s, err := Parse(spec)
	if err == nil {
		_, err = s.Write(&bytes.Buffer{}, parse(t, data))
	}
	wantError(t, err, parts...)
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
