package coherence

import "testing"

func TestEmpty(t *testing.T) {
	tryCheck(t, "empty",
		try{"nothing", said(""), true},
		try{"blanks", said(" \n\t\u00a0"), true},
		try{"zero width", said("\u200b\ufeff"), true},
		try{"controls", said("\x00\x00"), true},
		try{"a letter", said("B"), false},
		try{"a sign", said("."), false},
		try{"an emoji", said("👍"), false},
		try{"baseline empty too", beside("", " "), false},
		try{"baseline speaks", beside("", "Oslo."), true},
	)
	tryTags(t, "empty", "")
}
