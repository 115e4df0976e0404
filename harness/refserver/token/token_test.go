package token

import (
	"bytes"
	"strings"
	"testing"
)

// The model's card tells these.
func TestTinyVocabulary(t *testing.T) {
	_, tok := openTiny(t)
	bos, ok := tok.BOS()
	if tok.VocabSize() != 2048 || bos != 1 || !ok || tok.EOS() != 2 || !tok.AddsBOS() {
		t.Errorf("vocabulary %d, BOS %d %v, EOS %d, adds BOS %v", tok.VocabSize(), bos, ok, tok.EOS(), tok.AddsBOS())
	}
	for id, want := range []string{"<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"} {
		if tok.Token(id) != want || tok.Piece(id) != want || !tok.IsSpecial(id) {
			t.Errorf("token %d is %q, special %v; want %q, special", id, tok.Token(id), tok.IsSpecial(id), want)
		}
		if tok.IsEOG(id) != (id == 2) {
			t.Errorf("token %d %q: IsEOG %v", id, want, tok.IsEOG(id))
		}
	}
	if tok.IsSpecial(6) || tok.Token(6) != "!" {
		t.Errorf("token 6 is %q, special %v", tok.Token(6), tok.IsSpecial(6))
	}
}

func TestPieces(t *testing.T) {
	tok := tinyMeta().tokenizer(t)
	for _, c := range []struct {
		id          int
		text, piece string
		bytes       []byte
	}{
		{' ', "Ġ", " ", []byte(" ")},
		{'\n', "Ċ", "\n", []byte("\n")},
		{0xe2, "â", "\ufffd", []byte{0xe2}},
		{257, "hel", "hel", []byte("hel")},
		{259, "</s>", "</s>", []byte("</s>")},
		{262, "[PAD]", "", []byte{}},
		{-1, "", "", nil},
		{263, "", "", nil},
	} {
		if tok.Token(c.id) != c.text || tok.Piece(c.id) != c.piece || !bytes.Equal(tok.Bytes(c.id), c.bytes) {
			t.Errorf("token %d: %q, piece %q, bytes % x", c.id, tok.Token(c.id), tok.Piece(c.id), tok.Bytes(c.id))
		}
	}
	if tok.IsSpecial(-1) || tok.IsSpecial(9999) || tok.IsSpecial(260) || tok.IsSpecial(262) || !tok.IsSpecial(261) {
		t.Error("IsSpecial: control and unknown tokens, and no others")
	}
}

func TestEndTokens(t *testing.T) {
	m := tinyMeta()
	m[keyTokens] = append(m[keyTokens].([]string), "<|im_end|>", "<|endoftext|>", "<turn>")
	m[keyTypes] = append(m[keyTypes].([]int32), 3, 1, 3)
	tok := m.with(keyEOT, uint32(265)).tokenizer(t)
	for id, want := range map[int]bool{
		259: true,  // EOS
		263: true,  // a control token known to end turns
		264: false, // ordinary text that looks like one
		265: true,  // the file's end of turn
		258: false,
		-1:  false,
	} {
		if tok.IsEOG(id) != want {
			t.Errorf("IsEOG(%d) is %v", id, !want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	twice := tinyMeta()
	twice[keyTokens].([]string)['x'] = "he"
	for _, c := range []struct {
		m    meta
		want string
	}{
		{tinyMeta().with(keyModel, "llama"), `tokenizer.ggml.model is "llama"; only byte-level BPE`},
		{tinyMeta().with(keyModel, nil), `tokenizer.ggml.model is ""`},
		{tinyMeta().with(keyModel, uint32(1)), "tokenizer.ggml.model is of type uint32, not string"},
		{tinyMeta().with(keyTokens, nil), "the file has no tokenizer.ggml.tokens"},
		{tinyMeta().with(keyTypes, []int32{1, 1}), "tokenizer.ggml.token_type has 2 entries for 263 tokens"},
		{tinyMeta().with(keyMerges, nil), "the file has no tokenizer.ggml.merges"},
		{tinyMeta().with(keyMerges, []string{"h e", "h z"}), `merge 1, "h z": not two tokens`},
		{tinyMeta().with(keyMerges, []string{"he"}), `merge 0, "he": not two tokens`},
		{twice, `token "he" has the ids 120 and 256`},
		{tinyMeta().with(keyEOS, nil), "the file has no tokenizer.ggml.eos_token_id"},
		{tinyMeta().with(keyEOS, uint32(263)), "tokenizer.ggml.eos_token_id is 263, outside the vocabulary of 263 tokens"},
		{tinyMeta().with(keyBOS, nil), "a BOS token is to be added"},
		{tinyMeta().with(keyAddBOS, "yes"), "tokenizer.ggml.add_bos_token is of type string, not bool"},
	} {
		if _, err := New(c.m.file(t)); err == nil || !strings.HasPrefix(err.Error(), "m.gguf: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}
