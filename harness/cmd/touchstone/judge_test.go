package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

// saved is the run folder of a healthy gate against baseline "good".
func saved(t *testing.T) string {
	t.Helper()
	o, dir := gated(t, serve(t, refserver.Config{}), good(t)...)
	o.want(t, verdict.ExitPass)
	return dir
}

// copied is a copy of a run folder, to be damaged.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// lines are those of exchanges.jsonl, with their ends.
func lines(t *testing.T, dir string) []string {
	t.Helper()
	return strings.SplitAfter(strings.TrimSuffix(string(read(t, filepath.Join(dir, exchange.ExchangesFile))), "\n"), "\n")
}

func setLines(t *testing.T, dir string, ls []string) {
	t.Helper()
	write(t, filepath.Join(dir, exchange.ExchangesFile), strings.TrimSuffix(strings.Join(ls, ""), "\n")+"\n")
}

// lineOf is the index of the line that holds a request.
func lineOf(t *testing.T, ls []string, id string) int {
	t.Helper()
	for i, l := range ls {
		if strings.HasPrefix(l, `{"request":{"id":"`+id+`"`) {
			return i
		}
	}
	t.Fatalf("no exchange %s", id)
	return 0
}

// rewrite changes the reply of a saved chat exchange. With ids it drops what
// the server told about the tokens, too.
func rewrite(t *testing.T, line, text string, dropTokens bool) string {
	t.Helper()
	var x exchange.Exchange
	if err := json.Unmarshal([]byte(line), &x); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(x.Raw, &body); err != nil {
		t.Fatal(err)
	}
	choice := body["choices"].([]any)[0].(map[string]any)
	choice["message"].(map[string]any)["content"] = text
	if dropTokens {
		delete(choice, "token_ids")
		delete(choice, "logprobs")
	}
	var err error
	if x.Raw, err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// A run folder can be sent to somebody else: judged there, it gives the same
// bytes.
func TestJudgeIsRepeatable(t *testing.T) {
	healthy := saved(t)
	o, broken := gated(t, serve(t, refserver.Config{Faults: []string{"qkv-shard-order"}}), good(t)...)
	o.want(t, verdict.ExitRegression)
	for name, c := range map[string]struct {
		dir  string
		code int
	}{"healthy": {healthy, verdict.ExitPass}, "broken": {broken, verdict.ExitRegression}} {
		t.Run(name, func(t *testing.T) {
			before := read(t, filepath.Join(c.dir, "verdict.json"))
			moved := filepath.Join(t.TempDir(), "deep", "moved")
			if err := os.MkdirAll(filepath.Dir(moved), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(c.dir, moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(moved, "verdict.json")); err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Dir(moved))
			call{env: []string{"TOUCHSTONE_TIER=full"}}.run(t, "judge", "moved").want(t, c.code)
			if after := read(t, filepath.Join(moved, "verdict.json")); !bytes.Equal(before, after) {
				t.Errorf("verdict.json was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// One damaged answer among many good ones is enough.
func TestJudgeDamagedAnchor(t *testing.T) {
	dir := saved(t)
	const id = "anchors/capital-norway"
	for name, c := range map[string]struct {
		text       string
		dropTokens bool
	}{
		"gibberish, token ids left":      {"////////////////////////////////////////", false},
		"gibberish, token ids gone":      {"////////////////////////////////////////", true},
		"word salad, token ids left":     {"qx the the vzz lk lamp of of nrt", false},
		"word salad, token ids gone":     {"qx the the vzz lk lamp of of nrt", true},
		"fluent, wrong, token ids there": {"The capital of Norway is Paris.", false},
		"fluent, wrong, token ids gone":  {"The capital of Norway is Paris.", true},
		"empty":                          {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := copied(t, dir)
			ls := lines(t, d)
			i := lineOf(t, ls, id)
			ls[i] = rewrite(t, ls[i], c.text, c.dropTokens)
			setLines(t, d, ls)
			touchstone(t, "judge", d).want(t, verdict.ExitRegression, "FAIL", id)
		})
	}
}

func TestJudgeMissingExchange(t *testing.T) {
	dir := copied(t, saved(t))
	all := lines(t, dir)
	for _, id := range []string{"anchors/capital-norway", "context/context-password/1"} {
		i := lineOf(t, all, id)
		setLines(t, dir, append(append([]string{}, all[:i]...), all[i+1:]...))
		touchstone(t, "judge", dir).want(t, verdict.ExitInconclusive, "INCONCLUSIVE", "server.coverage", id)
	}
	// No data at all is no pass either.
	write(t, filepath.Join(dir, exchange.ExchangesFile), "")
	touchstone(t, "judge", dir).want(t, verdict.ExitInconclusive, "INCONCLUSIVE")
}

func TestJudgeDamagedFolder(t *testing.T) {
	dir := saved(t)
	file := func(d string) string { return filepath.Join(d, exchange.ExchangesFile) }
	for name, c := range map[string]struct {
		damage func(t *testing.T, d string)
		code   int
		words  []string
	}{
		"broken line in the middle": {func(t *testing.T, d string) {
			ls := lines(t, d)
			ls[4] = `{"request":{"id":` + "\n"
			setLines(t, d, ls)
		}, verdict.ExitUsage, []string{exchange.ExchangesFile + ":5", "no exchange"}},
		"the same exchange twice": {func(t *testing.T, d string) {
			ls := lines(t, d)
			ls[4] = ls[1]
			setLines(t, d, ls)
		}, verdict.ExitUsage, []string{exchange.ExchangesFile + ":5", "line 2"}},
		"torn last line": {func(t *testing.T, d string) {
			b := read(t, file(d))
			write(t, file(d), string(b[:len(b)-20]))
		}, verdict.ExitInconclusive, []string{"warning", exchange.ExchangesFile + ":", "torn", "INCONCLUSIVE"}},
		"another schema": {func(t *testing.T, d string) {
			replace(t, filepath.Join(d, exchange.MetaFile), `"schema": 1`, `"schema": 7`)
		}, verdict.ExitUsage, []string{"schema 7", "schema 1", exchange.MetaFile}},
		"bad JSON in the plan": {func(t *testing.T, d string) {
			write(t, filepath.Join(d, exchange.PlanFile), "[\n{]\n")
		}, verdict.ExitUsage, []string{exchange.PlanFile + ":2"}},
		"an unplanned exchange": {func(t *testing.T, d string) {
			ls := lines(t, d)
			ls[0] = strings.Replace(ls[0], `{"request":{"id":"`, `{"request":{"id":"x`, 1)
			setLines(t, d, ls)
		}, verdict.ExitUsage, []string{"its plan doesn't name"}},
		"no exchanges": {func(t *testing.T, d string) {
			if err := os.Remove(file(d)); err != nil {
				t.Fatal(err)
			}
		}, verdict.ExitUsage, []string{exchange.ExchangesFile}},
		"no prompts": {func(t *testing.T, d string) {
			if err := os.Remove(filepath.Join(d, "prompts.json")); err != nil {
				t.Fatal(err)
			}
		}, verdict.ExitUsage, []string{"prompts.json"}},
		"no baseline": {func(t *testing.T, d string) {
			if err := os.RemoveAll(filepath.Join(d, "baseline")); err != nil {
				t.Fatal(err)
			}
		}, verdict.ExitUsage, []string{"baseline"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := copied(t, dir)
			c.damage(t, d)
			o := touchstone(t, "judge", d)
			o.want(t, c.code, c.words...)
			if strings.Contains(o.stdout, "PASS") {
				t.Errorf("a damaged folder passes:\n%s", o.stdout)
			}
		})
	}
	touchstone(t, "judge", t.TempDir()).want(t, verdict.ExitUsage, "no run folder", exchange.MetaFile)
	touchstone(t, "judge").want(t, verdict.ExitUsage, "<run>")
}

func TestReport(t *testing.T) {
	o, dir := gated(t, serve(t, refserver.Config{Faults: []string{"attention-output-lost"}}), good(t)...)
	o.want(t, verdict.ExitRegression)
	text := touchstone(t, "report", dir)
	text.want(t, verdict.ExitPass, "FAIL  touchstone-tiny", "Likely cause: attention output lost", "reproduce curl")
	first, _, _ := strings.Cut(o.stdout, "\n")
	if !strings.HasPrefix(text.stdout, first+"\n") {
		t.Errorf("gate says %q, and report\n%s", first, text.stdout)
	}
	md := touchstone(t, "report", dir, "--format", "md")
	md.want(t, verdict.ExitPass, "attention output lost", "|")
	if string(read(t, filepath.Join(dir, "report.md"))) != md.stdout {
		t.Error("report.md in the run folder is another one")
	}
	touchstone(t, "report", dir, "--format", "pdf").want(t, verdict.ExitUsage, "pdf", "text", "md")
	touchstone(t, "report", filepath.Join(dir, "nowhere")).want(t, verdict.ExitUsage, "no run folder")
}

// A report that could not be written is no pass.
func TestJudgeOutputFails(t *testing.T) {
	dir := saved(t)
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"judge", dir}, nil, strings.NewReader(""), noSpace{}, &stderr); code != verdict.ExitInconclusive {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	if !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("it says %q", stderr.String())
	}
}

// noSpace is standard output on a full disk.
type noSpace struct{}

func (noSpace) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
