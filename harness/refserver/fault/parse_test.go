package fault

import "testing"

func TestParse(t *testing.T) {
	for spec, want := range map[string]string{
		"attention-output-lost":            "attention-output-lost:layers=all",
		"attention-output-lost:layers=0-1": "attention-output-lost:layers=0-1",
		"qkv-shard-order:layers=half":      "qkv-shard-order:layers=half",
		"qkv-shard-order:layers=3":         "qkv-shard-order:layers=3",
	} {
		s, err := Parse(spec)
		if err != nil {
			t.Errorf("Parse(%q): %v", spec, err)
		} else if s.String() != want {
			t.Errorf("Parse(%q) is %q, want %q", spec, s, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string][]string{
		"":                                  {"unknown fault", "known: attention-output-lost, qkv-shard-order, slow"},
		"zebra":                             {`unknown fault "zebra"; known:`},
		"qkv-shard-ordre":                   {`did you mean "qkv-shard-order"?`, "attention-output-lost"},
		"attention":                         {`did you mean "attention-output-lost"?`},
		"qkv-shard-order:":                  {"key=value"},
		"qkv-shard-order:layers":            {`"layers"`, "key=value"},
		"qkv-shard-order:layers=":           {"key=value"},
		"qkv-shard-order:layer=1":           {`unknown parameter "layer"`, `did you mean "layers"?`},
		"qkv-shard-order:p=0.1":             {`unknown parameter "p"; known: layers`},
		"qkv-shard-order:layers=x":          {"layers", `"x"`, "range"},
		"qkv-shard-order:layers=2-1":        {`"2-1"`},
		"qkv-shard-order:layers=-1":         {`"-1"`},
		"qkv-shard-order:layers=0,layers=1": {"twice"},
		"qkv-shard-order:layers=0-1,":       {"key=value"},
	} {
		t.Run(spec, func(t *testing.T) {
			_, err := Parse(spec)
			wantError(t, err, want...)
		})
	}
}
