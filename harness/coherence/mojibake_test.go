package coherence

import "testing"

func TestMojibake(t *testing.T) {
	const broken = "Ã¤hnlich wie fÃ¼r GrÃ¶ÃŸe"
	tryCheck(t, "mojibake",
		try{"German", said(broken), true},
		try{"quotes", said("itâ€™s â€œgoodâ€\u009d"), true},
		try{"Russian", said("Ð¼Ð¾Ñ\u0081Ñ‚"), true},
		try{"an emoji and two letters", said("ðŸŽ‰ Ã© Ã¨"), true},
		try{"German as it should be", said("Ähnlich wie für Größe, süßöä, à la carte"), false},
		try{"Portuguese capitals", said("NÃO, SÃO JOÃO, ÃO, MAÇÃ®"), false},
		try{"two pairs", said("cafÃ© crÃ¨me"), false},
		try{"prices", said("£5, §2, ©2024, ±3 °C, ½ ¾ «x»"), false},
		try{"the baseline does it too", beside(broken, broken), false},
	)
	tryTags(t, "mojibake", broken)
	if f := find(Run(said(broken)), "mojibake"); f == nil || f.Measured != 4 || f.Offset != 0 {
		t.Errorf("got %+v, want 4 from byte 0", f)
	}
}
