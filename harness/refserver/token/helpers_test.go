package token

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"touchstone/harness/refserver/gguf"
)

const tinyModel = "../../../fixtures/models/tiny/touchstone-tiny-f32.gguf"

func openTiny(t testing.TB) (*gguf.File, *Tokenizer) {
	t.Helper()
	return open(t, tinyModel)
}

func open(t testing.TB, path string) (*gguf.File, *Tokenizer) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, tok
}

// lines decodes a file of one JSON value a line, and wants at least one.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s, line %d: %v", path, len(all)+1, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

// encoded is a text as another implementation encoded it.
type encoded struct {
	Text    string `json:"text"`
	IDs     []int  `json:"ids"`
	Decoded string `json:"decoded"`
}

// meta is the metadata of a file made for a test, by key.
type meta map[string]any

// tinyMeta is a byte-level vocabulary of all 256 bytes and a few more:
// 256 "he", 257 "hel", 258 "<s>", 259 "</s>", 260 "<|x|>" (user-defined),
// 261 "<unk>", 262 unused.
func tinyMeta() meta {
	var tokens []string
	var types []int32
	for _, r := range byteRunes {
		tokens, types = append(tokens, string(r)), append(types, int32(kindNormal))
	}
	tokens = append(tokens, "he", "hel", "<s>", "</s>", "<|x|>", "<unk>", "[PAD]")
	types = append(types, 1, 1, 3, 3, 4, 2, 5)
	return meta{
		keyModel: "gpt2", keyPre: "gpt-2", keyTokens: tokens, keyTypes: types,
		keyMerges: []string{"h e", "he l"}, keyBOS: uint32(258), keyEOS: uint32(259), keyAddBOS: true,
	}
}

func (m meta) with(key string, v any) meta {
	if v == nil {
		delete(m, key)
	} else {
		m[key] = v
	}
	return m
}

// file writes the metadata as a GGUF file without tensors.
func (m meta) file(t testing.TB) *gguf.File {
	t.Helper()
	le := binary.LittleEndian
	str := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	data := le.AppendUint32([]byte("GGUF"), 3)
	data = le.AppendUint64(data, 0)
	data = le.AppendUint64(data, uint64(len(m)))
	for key, v := range m {
		data = str(data, key)
		switch v := v.(type) {
		case string:
			data = str(le.AppendUint32(data, 8), v)
		case uint32:
			data = le.AppendUint32(le.AppendUint32(data, 4), v)
		case bool:
			data = append(le.AppendUint32(data, 7), map[bool]byte{true: 1}[v])
		case []string:
			data = le.AppendUint64(le.AppendUint32(le.AppendUint32(data, 9), 8), uint64(len(v)))
			for _, s := range v {
				data = str(data, s)
			}
		case []int32:
			data = le.AppendUint64(le.AppendUint32(le.AppendUint32(data, 9), 5), uint64(len(v)))
			for _, n := range v {
				data = le.AppendUint32(data, uint32(n))
			}
		default:
			t.Fatalf("%s: no GGUF type for %T", key, v)
		}
	}
	f, err := gguf.Parse(data, "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (m meta) tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := New(m.file(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func wantIDs(t *testing.T, what string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: ids %v, want %v", what, got, want)
	}
}
