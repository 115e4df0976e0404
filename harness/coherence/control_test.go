package coherence

import "testing"

func TestControl(t *testing.T) {
	tryCheck(t, "control",
		try{"NUL", said("ok\x00"), true},
		try{"backspace", said("a\bb"), true},
		try{"delete", said("a\x7fb"), true},
		try{"C1", said("a\u0085b"), true},
		try{"bare escape", said("a\x1bb"), true},
		try{"tabs and lines", said("a\tb\r\nc\fd"), false},
		try{"terminal colours", said("\x1b[31mred\x1b[0m"), false},
		try{"zero-width joiner", said("👩\u200d🚀"), false},
		try{"the baseline has it too", beside("a\x00", "b\x00\x00"), false},
	)
	tryTags(t, "control", "ok\x00")
}
