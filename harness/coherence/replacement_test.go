package coherence

import "testing"

func TestReplacement(t *testing.T) {
	const broken = "삼겹\ufffd을 먹었다"
	tryCheck(t, "replacement",
		try{"inside a word", said(broken), true},
		try{"bytes that are no UTF-8", said("Os\xfflo"), true},
		try{"a run", said("So: \ufffd\ufffd\ufffd\ufffd\ufffd :"), true},
		try{"only these", said("\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"), true},
		try{"cut at the end", said("삼겹\ufffd"), false},
		try{"three bytes of an emoji at the end", said("Well done \ufffd\ufffd\ufffd"), false},
		try{"four at the end are no cut", said("Well done x\ufffd\ufffd\ufffd\ufffd"), true},
		try{"three after a letter are a cut", said("Well done x\ufffd\ufffd\ufffd"), false},
		try{"four apart", said("So: \ufffd \ufffd \ufffd \ufffd :"), false},
		try{"about the character", said("U+FFFD, shown as ( \ufffd ), stands for bad bytes."), false},
		try{"one apart, the baseline has none", beside("So: \ufffd :", "So: x :"), true},
		try{"the baseline has it too", beside(broken, broken), false},
	)
	tryTags(t, "replacement", broken)
}
