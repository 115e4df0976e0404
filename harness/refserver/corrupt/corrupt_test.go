package corrupt

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver/internal/ggufedit"
)

func TestRegistry(t *testing.T) {
	var names []string
	report := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	for _, f := range All() {
		names = append(names, f.Name)
		if f.Summary == "" || f.plan == nil || len(f.Reports) == 0 || f.Benign != (f.Name == "ulp") {
			t.Errorf("%s is not described in full: %+v", f.Name, f)
		}
		for _, r := range f.Reports {
			if !report.MatchString(r) {
				t.Errorf("%s: %q is no report", f.Name, r)
			}
		}
		for _, p := range f.Params {
			if p.Summary == "" || p.Check == nil || p.Check(p.Default) != nil {
				t.Errorf("%s: parameter %s lacks something, or refuses its default %q", f.Name, p.Name, p.Default)
			}
		}
		// Written out in full, it is the same setting.
		s, err := Parse(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%s is read as %s, %v", s, again, err)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) || len(names) != 12 {
		t.Errorf("the faults are %v", names)
	}
}

func TestParseErrors(t *testing.T) {
	for spec, parts := range map[string][]string{
		"":                    {"unknown fault", "known: attention-output-zero, gate-up-swap"},
		"qkv-swpa":            {`did you mean "qkv-swap"`},
		"attention":           {`did you mean "attention-output-zero"`},
		"ulp:":                {"ends in a colon"},
		"ulp:layers=all":      {`unknown parameter "layers"`, "known: seed"},
		"qkv-swap:layers=2-1": {"parameter layers", `"2-1" names no layers`},
	} {
		_, err := Parse(spec)
		wantError(t, err, parts...)
	}
}

func TestWriteRefusesWhatIsNoModel(t *testing.T) {
	refused(t, "ulp", ggufedit.Rename(tinyBytes(t), "general.architecture", "general.type"), "no general.architecture", "adapter")
	var data = tinyBytes(t)
	for i := range 4 {
		for _, part := range []string{"attn_norm", "ffn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"} {
			name := blk(i, part+".weight")
			data = ggufedit.Rename(data, name, strings.Replace(name, "blk", "block", 1))
		}
	}
	refused(t, "layer-zero", data, "no tensors named blk.N")
	var zero Setting
	_, err := zero.Write(&bytes.Buffer{}, parse(t, tinyBytes(t)))
	wantError(t, err, "make one with Parse")
}
