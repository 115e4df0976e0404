package exchange

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var testMeta = Meta{
	Tool: "0.1.0", Started: time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC), Tier: "smoke", Seed: 7,
	Target:   Target{Engine: "vllm", Model: "m", Capabilities: map[Capability]State{CapLogprobs: Present}},
	Baseline: "tiny", Concurrency: 32, Thresholds: map[string]float64{"nll": 0.01},
}

func testRun(t *testing.T) *Run {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "run"), testMeta, []Planned{{Probe: "p", Requests: []Request{{ID: "p/1", API: Chat}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func numbered(i int) *Exchange {
	return &Exchange{Request: Request{ID: fmt.Sprintf("p/%d", i), Probe: "p", API: Completions, Prompt: "a<b>&c", Params: map[string]any{"temperature": 0.0}},
		Sent: []byte(`{"prompt":"a<b>&c"}`), Status: 200, Raw: Bytes("data: \xff\n"),
		Timeline: Timeline{Start: testMeta.Started, Reads: []Read{{At: 3, N: 8}}, End: 4}}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q doesn't hold %q", err, p)
		}
	}
}

func TestRunRoundTrip(t *testing.T) {
	r := testRun(t)
	want := []*Exchange{numbered(1), numbered(2)}
	want[1].Failure = &Failure{Class: Dropped, Detail: "gone"}
	for _, e := range want {
		if err := r.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WriteFile("verdict.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.Append(numbered(3)), ExchangesFile, "closed")
	again, err := OpenRun(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Meta, again.Meta); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(r.Plan, again.Plan); d != "" {
		t.Error(d)
	}
	got, warnings, err := again.Exchanges()
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-appended +read)\n%s", d)
	}
	if data, err := again.ReadFile("verdict.json"); err != nil || string(data) != "{}" {
		t.Errorf("verdict.json: %s, %v", data, err)
	}
	wantError(t, again.Append(numbered(3)), "opened for reading")
}

func TestRunFromManyGoroutines(t *testing.T) {
	r := testRun(t)
	const n = 200
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := r.Append(numbered(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// Not closed: what was appended is there at once.
	got, _, err := r.Exchanges()
	if err != nil || len(got) != n {
		t.Errorf("%d exchanges, %v; want %d", len(got), err, n)
	}
}

func TestRunTornAndBroken(t *testing.T) {
	a, b := string(line(t, 1)), string(line(t, 2))
	for _, tc := range []struct {
		name, file string
		n          int
		warning    string
		errs       []string
	}{
		{"empty", "", 0, "", nil},
		{"whole", a + b, 2, "", nil},
		{"last line without newline", a + strings.TrimSpace(b), 2, "", nil},
		{"torn last line", a + b[:len(b)/2], 1, ":2: the last line is torn", nil},
		{"only a torn line", a[:9], 0, ":1: ", nil},
		{"broken in the middle", a[:len(a)/2] + "\n" + b, 0, "", []string{ExchangesFile + ":1:"}},
		{"broken at the end, with newline", a + b[:len(b)/2] + "\n", 0, "", []string{ExchangesFile + ":2:"}},
		{"empty line", a + "\n" + b, 0, "", []string{":2:", "empty line"}},
		{"duplicate id", a + b + a, 0, "", []string{":3:", "p/1", "line 1"}},
		{"no id", a + "{}\n", 0, "", []string{":2:", "request.id"}},
		{"wrong type", a + `{"request":3}` + "\n" + b, 0, "", []string{":2:", "request"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, warnings, err := readExchanges(ExchangesFile, strings.NewReader(tc.file))
			if tc.errs != nil {
				wantError(t, err, tc.errs...)
				return
			}
			if err != nil || len(got) != tc.n {
				t.Fatalf("%d exchanges, %v; want %d", len(got), err, tc.n)
			}
			if tc.warning == "" && len(warnings) > 0 || tc.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), tc.warning)) {
				t.Errorf("warnings %v, want %q", warnings, tc.warning)
			}
		})
	}
}

func line(t *testing.T, i int) []byte {
	t.Helper()
	l, err := encodeLine(numbered(i))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAppendRefuses(t *testing.T) {
	r := testRun(t)
	if err := r.Append(numbered(1)); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.Append(numbered(1)), "p/1", "line 1", "unique")
	wantError(t, r.Append(&Exchange{Request: Request{Probe: "p"}}), "no request id")
}

func TestCreateRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "old.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(full, testMeta, nil)
	wantError(t, err, full, "not empty", "old.txt")
	file := filepath.Join(full, "old.txt")
	_, err = Create(filepath.Join(file, "run"), testMeta, nil)
	wantError(t, err, file, "is a file")
	if _, err = Create(t.TempDir(), testMeta, nil); err != nil {
		t.Errorf("an empty folder that is there already: %v", err)
	}
}

func TestOpenRunRefuses(t *testing.T) {
	_, err := OpenRun(t.TempDir())
	wantError(t, err, "no run folder", MetaFile)
	for _, tc := range []struct {
		name, meta string
		parts      []string
	}{
		{"another schema", `{"schema":99,"seed":"a different shape"}`, []string{MetaFile, "schema 99", fmt.Sprint("schema ", Schema)}},
		{"no schema", `{}`, []string{"schema 0"}},
		{"broken", "{\n\"schema\": 1,\n!", []string{MetaFile + ":3:"}},
		{"wrong type", "{\n\"schema\": 1,\n\"seed\": \"x\"}", []string{MetaFile + ":3:", "seed"}},
	} {
		r := testRun(t)
		if err := os.WriteFile(filepath.Join(r.Dir, MetaFile), []byte(tc.meta), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenRun(r.Dir)
		t.Log(tc.name, err)
		wantError(t, err, tc.parts...)
	}
	r := testRun(t)
	if err := os.Remove(filepath.Join(r.Dir, PlanFile)); err != nil {
		t.Fatal(err)
	}
	_, err = OpenRun(r.Dir)
	wantError(t, err, PlanFile)
}

func TestWriteFileStaysInside(t *testing.T) {
	r := testRun(t)
	for _, name := range []string{"../x", "/etc/x", "a/b", "", ".", ExchangesFile} {
		if err := r.WriteFile(name, nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if _, err := r.ReadFile("../run/run.json"); err == nil {
		t.Error("a file outside was read")
	}
}

func TestFullDisk(t *testing.T) {
	out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full to stand for a full disk")
	}
	r := testRun(t)
	_ = r.out.Close()
	r.out = out
	wantError(t, r.Append(numbered(1)), r.Dir, ExchangesFile, "disk is full")
}

// After half a line nothing may be written, or the file would be broken in
// the middle instead of torn at its end.
func TestNothingAfterHalfALine(t *testing.T) {
	r := testRun(t)
	r.torn = errors.New("half a line")
	wantError(t, r.Append(numbered(1)), "half a line")
}

func TestPathErrorHints(t *testing.T) {
	for _, tc := range []struct {
		err  error
		hint string
	}{
		{syscall.ENOSPC, "disk is full"},
		{syscall.EROFS, "read-only"},
		{syscall.EACCES, "no permission"},
		{syscall.ENOTDIR, "is a file"},
	} {
		err := pathError("can't write", "some/run.json", &os.PathError{Op: "open", Path: "some/.tmp123", Err: tc.err})
		wantError(t, err, "some/run.json", tc.hint)
		if strings.Contains(err.Error(), ".tmp123") {
			t.Errorf("%v names a temporary file", err)
		}
		if !errors.Is(err, tc.err) {
			t.Errorf("%v hides its cause", err)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	for _, s := range []string{"", "plain", "\xff\x00", "base64:not", "é\u2028<&>"} {
		data, err := Bytes(s).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var b Bytes
		if err := b.UnmarshalJSON(data); err != nil || string(b) != s {
			t.Errorf("%q came back as %q, %v", s, b, err)
		}
	}
	var b Bytes
	wantError(t, b.UnmarshalJSON([]byte(`"base64:!"`)), "base64")
}
