package coherence

import "testing"

func TestStutter(t *testing.T) {
	const words = "The The quick The quick brown The quick brown fox The quick brown fox jumps"
	tryCheck(t, "stutter",
		try{"cumulative chunks", said(words), true},
		try{"without blanks", said("OsOsloOslo isOslo is theOslo is the capital"), true},
		try{"the last one cut", said("It It was It was a It was a cold It was a cold night It was a"), true},
		try{"beginnings of sentences", said("The sun. The moon. The stars. The sky. The end."), false},
		try{"emphasis", said("No, no, no way."), false},
		try{"three", said("The The quick The quick brown fox"), false},
		try{"the baseline does it too", beside(words, words), false},
	)
	tryTags(t, "stutter", words)
}
