package coherence

import "testing"

func TestSpecialToken(t *testing.T) {
	tryCheck(t, "special-token",
		try{"a turn mark", said("Oslo.<|im_end|>\n<|im_start|>user"), true},
		try{"an end mark", said("Oslo.</s>"), true},
		try{"a begin mark", said("<s> Oslo."), true},
		try{"DeepSeek's", said("Oslo.<｜end▁of▁sentence｜>"), true},
		try{"Llama's reserve", said("Os<|reserved_special_token_17|>lo"), true},
		try{"padding", said("Oslo.<pad><pad>"), true},
		try{"a byte token", said("Oslo.<0x0A>"), true},
		try{"BERT's", said("Os [UNK] lo"), true},
		try{"the vocabulary's blanks", said("TheĠcapitalĠofĠNorwayĠisĠOslo"), true},
		try{"SentencePiece's blanks", said("▁The▁capital▁of▁norway▁is"), true},
		try{"struck out in HTML", said("Price: <s>12</s> 10"), false},
		try{"quoted", said("The token `<|im_end|>` ends a turn, \"</s>\" a text."), false},
		try{"asked for", Text{Text: "<|im_end|> ends a turn.", Prompt: "What does <|im_end|> do?"}, false},
		try{"generics and markup", said("Vec<u8>, <unknown>, <b>pad</b>, a[INDEX], <|, |>"), false},
		try{"two such marks", said("The Ġab and Ġcd marks"), false},
		try{"one Maltese letter", said("Il-Ġnien"), false},
		try{"Maltese", Text{Text: "iġġib Ġnejna Ġimgħa Ġurnata Ġdida Ġenerali", Tags: []string{"language:mt"}}, false},
		try{"a bar of blocks", said("▁▂▃▄▅▆▇█"), false},
		try{"the baseline leaks it too", beside("Oslo.</s>", "Oslo</s>"), false},
	)
	tryTags(t, "special-token", "Oslo.<|im_end|>")
	if f := find(Run(said("é Oslo.</s></s>")), "special-token"); f == nil || f.Measured != 2 || f.Offset != len("é Oslo.") {
		t.Errorf("got %+v, want 2 from byte 8", f)
	}
}
