package token

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The cases of Unicode 16, §3.9, table 3-8 to 3-11, and the beginnings of
// characters: one U+FFFD for each maximal subpart.
func TestLossy(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"plain é€😀":                            "plain é€😀",
		"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41": "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA",
		"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41": "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA",
		"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42": "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB",
		"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41": "\ufffd\ufffd\ufffd\ufffdA",
		"a\xf0\x9f\x98":                        "a\ufffd",
		"a\xe2\x82":                            "a\ufffd",
		"\ufffd":                               "\ufffd",
	} {
		if got := lossy(in); got != want {
			t.Errorf("% x becomes %q, want %q", in, got, want)
		}
	}
}

func TestDecodeSpecial(t *testing.T) {
	tok := tinyMeta().tokenizer(t)
	ids := []int{258, 'h', 261, 260, 262, 'i', 259, -1, 9999}
	if got := tok.Decode(ids); got != "h<|x|>i" {
		t.Errorf("Decode: %q", got)
	}
	if got := tok.DecodeAll(ids); got != "<s>h<unk><|x|>i</s>" {
		t.Errorf("DecodeAll: %q", got)
	}
}

func TestDetokenizerHoldsBack(t *testing.T) {
	tok := tinyMeta().tokenizer(t)
	d := tok.NewDetokenizer()
	push := func(id int, want string) {
		t.Helper()
		if got := d.Push(id); got != want {
			t.Errorf("byte %#x: %q, want %q", id, got, want)
		}
	}
	push('a', "a")
	push(0xf0, "") // 😀 is f0 9f 98 80
	push(0x9f, "")
	push(258, "") // a special token in between leaves nothing
	push(0x98, "")
	push(0x80, "😀")
	push(0xe2, "") // € is e2 82 ac
	push('b', "\ufffdb")
	push(0x80, "\ufffd") // cannot begin a character
	push(0xe2, "")
	push(0x82, "")
	if got := d.Flush(); got != "\ufffd" {
		t.Errorf("Flush: %q", got)
	}
	if got := d.Flush(); got != "" {
		t.Errorf("second Flush: %q", got)
	}
}

// For any tokens, the pieces pushed make the text decoded at once.
func TestDetokenizerEqualsDecode(t *testing.T) {
	tok := tinyMeta().tokenizer(t)
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.IntRange(-1, tok.VocabSize())).Draw(t, "ids")
		d := tok.NewDetokenizer()
		d.KeepSpecial = rapid.Bool().Draw(t, "keep special")
		got := ""
		for _, id := range ids {
			piece := d.Push(id)
			if !utf8.ValidString(piece) {
				t.Fatalf("piece %q of %d is no UTF-8", piece, id)
			}
			got += piece
		}
		got += d.Flush()
		if want := tok.decode(ids, d.KeepSpecial); got != want {
			t.Fatalf("pieces make %q, decoded at once %q", got, want)
		}
	})
}

// Whatever UTF-8 text is encoded comes back.
func TestRoundTrip(t *testing.T) {
	_, tok := openTiny(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := tok.Decode(tok.Encode(text, true, false)); got != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}
