package verdict

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestZeroStatusIsNoPass(t *testing.T) {
	var s Status
	if s != Inconclusive || s.ExitCode() != ExitInconclusive {
		t.Fatalf("the zero status is %v with exit code %d, want inconclusive and %d", s, s.ExitCode(), ExitInconclusive)
	}
}

func TestWorse(t *testing.T) {
	order := []Status{Pass, Known, Inconclusive, Error, Fail}
	for i, a := range order {
		for j, b := range order {
			want := order[max(i, j)]
			if got := Worse(a, b); got != want {
				t.Errorf("Worse(%v, %v) = %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestExitCodes(t *testing.T) {
	for s, want := range map[Status]int{Pass: 0, Known: 0, Fail: 1, Inconclusive: 3, Error: 3} {
		if got := s.ExitCode(); got != want {
			t.Errorf("%v exits %d, want %d", s, got, want)
		}
	}
	for code, want := range map[int]int{0: 0, 1: 1, 2: 128, 3: 125, 4: 125, 130: 130} {
		if got := Bisect(code); got != want {
			t.Errorf("Bisect(%d) = %d, want %d", code, got, want)
		}
	}
}

// required passes are what a run needs at least.
func required(s Status) []Finding {
	return []Finding{
		{Check: CoherenceText, Status: s}, {Check: TokensFinish, Status: s},
		{Check: AnchorsAnswers, Status: s}, {Check: ContextInsensitive, Status: s},
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		findings []Finding
		want     Status
	}{
		"nothing at all":              {nil, Inconclusive},
		"all required areas":          {required(Pass), Pass},
		"one required area missing":   {required(Pass)[1:], Inconclusive},
		"judged as inconclusive":      {append(required(Pass)[1:], Finding{Check: CoherenceText}), Inconclusive},
		"missing, and a failure":      {[]Finding{{Check: AnchorsAnswers, Status: Fail}}, Fail},
		"a failure and our error":     {append(required(Pass), Finding{Check: ServerHarness, Status: Error}, Finding{Check: TokensText, Status: Fail}), Fail},
		"our error":                   {append(required(Pass), Finding{Check: ServerHarness, Status: Error}), Error},
		"a waived failure":            {append(required(Pass), Finding{Check: TokensText, Status: Known}), Known},
		"an area that isn't required": {append(required(Pass), Finding{Check: ThroughputRecorded, Status: Inconclusive}), Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			v := Decide(c.findings, nil, Required())
			if v.Status != c.want || v.ExitCode != c.want.ExitCode() {
				t.Fatalf("got %v with exit code %d, want %v", v.Status, v.ExitCode, c.want)
			}
		})
	}
}

func TestDecideIsIndependentOfOrder(t *testing.T) {
	a := required(Pass)
	b := []Finding{a[3], a[1], a[0], a[2]}
	ja, err := Decide(a, []Uncovered{{"x", "1"}, {"tokens.text", "2"}}, Required()).JSON()
	if err != nil {
		t.Fatal(err)
	}
	jb, err := Decide(b, []Uncovered{{"tokens.text", "2"}, {"x", "1"}}, Required()).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if string(ja) != string(jb) {
		t.Fatalf("the order of findings changes the bytes:\n%s\n%s", ja, jb)
	}
}

func TestJSONShape(t *testing.T) {
	b, err := Decide(nil, nil, Required()).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"schema", "status", "exit_code", "findings", "diagnosis", "not_covered"} {
		if _, ok := m[k]; !ok {
			t.Errorf("verdict.json lacks %q", k)
		}
	}
	if m["status"] != "inconclusive" || m["exit_code"] != float64(3) {
		t.Errorf("status %v, exit_code %v", m["status"], m["exit_code"])
	}
	if strings.Contains(string(b), "null") {
		t.Errorf("an empty list is null:\n%s", b)
	}
}

func TestDiagnose(t *testing.T) {
	fail := func(checks ...string) (fs []Finding) {
		for _, c := range checks {
			fs = append(fs, Finding{Check: c, Status: Fail})
		}
		return fs
	}
	pass := func(checks ...string) (fs []Finding) {
		for _, c := range checks {
			fs = append(fs, Finding{Check: c, Status: Pass})
		}
		return fs
	}
	for name, c := range map[string]struct {
		findings []Finding
		want     string
	}{
		"healthy":                     {pass(AnchorsAnswers, ContextInsensitive, ContextConstant), ""},
		"attention lost":              {append(fail(AnchorsAnswers, ContextInsensitive), pass(ContextConstant)...), CauseAttentionLost},
		"attention lost, texts":       {fail(AnchorsAnswers, ContextSameAnswer), CauseAttentionLost},
		"constant logits":             {fail(AnchorsAnswers, ContextInsensitive, ContextConstant, "coherence.empty"), CauseConstantLogits},
		"constant logits, one answer": {fail(AnchorsAnswers, ContextInsensitive, ContextConstant, ContextSameAnswer), CauseConstantLogits},
		"weights misplaced":           {append(fail(AnchorsAnswers, "coherence.char-run", CoherenceMostly, ContextWeak), pass(ContextInsensitive, ContextConstant)...), CauseWeightsMisplaced},
		"fluent and wrong":            {append(fail(AnchorsAnswers), pass(ContextInsensitive, ContextConstant)...), CauseWeightsMisplaced},
		"one answer lost":             {append(fail(AnchorsRegression), pass(ContextInsensitive, ContextConstant, AnchorsAnswers)...), ""},
		"NaN":                         {fail(ServerNaN, AnchorsAnswers, ContextSameAnswer, "coherence.empty"), CauseNaN},
		"empty answers":               {fail(AnchorsAnswers, ContextSameAnswer, "coherence.empty"), ""},
		"wrong, context unknown":      {fail(AnchorsAnswers), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Diagnose(c.findings)
			switch {
			case c.want == "" && len(got) > 0:
				t.Fatalf("named %v, want nothing", got)
			case c.want != "" && (len(got) != 1 || got[0].Cause != c.want):
				t.Fatalf("named %v, want %q alone", got, c.want)
			}
		})
	}
}
