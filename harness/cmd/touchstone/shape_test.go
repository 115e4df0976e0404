package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"touchstone/harness/exchange"
	"touchstone/harness/refserver"
	"touchstone/harness/report"
	"touchstone/harness/verdict"
)

// shaped runs bench with flags of its own.
func shaped(t *testing.T, target string, args ...string) (outcome, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	return touchstone(t, append([]string{"bench", "--target", target, "--out", dir}, args...)...), dir
}

func plannedIn(t *testing.T, dir string) []exchange.Request {
	t.Helper()
	f, err := exchange.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f.Plan[0].Requests
}

// The lengths of the stock workloads are exact on the tiny model, whatever the
// tokenizer makes of a nonce.
func TestBenchLengths(t *testing.T) {
	server := serve(t, refserver.Config{})
	for _, c := range []struct {
		args []string
		want []string
	}{
		// 8 × 768 and 8 × 8.
		{[]string{"--workload", "prefill-heavy", "--requests", "8"}, []string{"8/8", "│ 6144 │", "8 / 8.0 / 8"}},
		{[]string{"--workload", "decode-heavy", "--requests", "4", "--output-tokens", "40"}, []string{"4/4", "│ 256 │", "40 / 40.0 / 40"}},
		// One block: 5 × 128 + 2 × 640 + 64.
		{[]string{"--workload", "mixed", "--requests", "8"}, []string{"8/8", "│ 1984 │", "64 / 144.0 / 384"}},
		{[]string{"--workload", "long-context", "--requests", "4", "--prompt-tokens", "900"}, []string{"4/4", "│ 3600 │"}},
		{[]string{"--workload", "shared-prefix", "--requests", "16"}, []string{"16/16", "│ 10240 │", "cached share of the prompts"}},
	} {
		t.Run(c.args[1], func(t *testing.T) {
			o, _ := shaped(t, server, c.args...)
			o.stdout = spaces(o.stdout)
			o.want(t, verdict.ExitPass, c.want...)
			if strings.Contains(o.stderr, "note:") {
				t.Errorf("lengths are not exact: %s", o.stderr)
			}
		})
	}
}

// spaces makes one blank of several.
func spaces(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

// The turns of a session are kept as they were sent, with the real answers, so
// that each can be repeated.
func TestBenchChat(t *testing.T) {
	o, dir := shaped(t, serve(t, refserver.Config{}), "--workload", "chat", "--requests", "6")
	o.want(t, verdict.ExitPass, "6/6")
	rs := plannedIn(t, dir)
	if len(rs) != 6 || len(rs[2].Messages) != 5 || rs[2].Messages[3].Role != "assistant" || rs[2].Messages[3].Content == "" {
		t.Fatalf("the turns are kept as %+v", rs)
	}
	touchstone(t, "judge", dir).want(t, verdict.ExitPass, "PASS", "6/6 ok")
}

// A load that time ends is complete: what was not sent was not planned.
func TestBenchDuration(t *testing.T) {
	o, dir := shaped(t, serve(t, refserver.Config{}), "--workload", "smoke", "--duration", "300ms", "--requests", "5000")
	o.want(t, verdict.ExitPass, "workload smoke")
	if n := len(plannedIn(t, dir)); n == 0 || n == 5000 {
		t.Errorf("%d requests stand in the plan, want those that were sent", n)
	}
	o, _ = shaped(t, serve(t, refserver.Config{}), "--workload", "smoke", "--duration", "1h", "--requests", "9")
	o.want(t, verdict.ExitPass, "9/9", "all 9 requests were sent before the 1h0m0s were over")
}

// What an open loop measures depends on the machine; that it sends by its
// schedule is shown with a fake clock in package load.
func TestBenchOpenLoop(t *testing.T) {
	for _, args := range [][]string{
		{"--rate", "200"},
		{"--rate", "200", "--arrival", "constant", "--ramp", "20ms"},
		{"--rate", "200", "--burstiness", "0.5"},
	} {
		o, dir := shaped(t, serve(t, refserver.Config{}), append(args, "--workload", "smoke", "--requests", "20", "--slo", "ttft=1h,tpot=1h")...)
		// A machine that is busy can make the client late, which voids a load.
		if o.code != verdict.ExitPass && !strings.Contains(o.stdout, "VOID client") {
			t.Errorf("%q: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		if !strings.Contains(o.stdout, "20/20") || !strings.Contains(o.stdout, "100 %") {
			t.Errorf("%q gave\n%s", args, o.stdout)
		}
		if n := len(plannedIn(t, dir)); n != 20 {
			t.Errorf("%q: %d requests", args, n)
		}
	}
}

func TestBenchTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, refserver.Config{})
	write(`{"time": 0, "prompt": "Please write instructions for making a desk lamp.", "max_tokens": 9}
{"time": 0.01, "prompt_tokens": 200, "max_tokens": 20}
{"timestamp": 20, "input_length": 300, "output_length": 24, "hash_ids": [0]}
`)
	o, dir := shaped(t, server, "--trace", file, "--warmup", "1")
	o.want(t, verdict.ExitPass, "workload trace", "3/3", "9 / 17.7 / 24") // (9 + 20 + 24)/3
	if xs := plannedIn(t, dir); xs[1].Params["max_tokens"] != 20.0 {
		t.Errorf("the second request: %+v", xs[1])
	}
	write(`{"time": 0, "prompt_tokens": 1020, "max_tokens": 5}`)
	o, _ = shaped(t, server, "--trace", file)
	o.want(t, verdict.ExitUsage, "request 1 of the trace: prompts of 1020 tokens and answers of 5 are 1025, more than the context of 1024")
	write(`{"time": 0, "tokens": 1020}`)
	o, _ = shaped(t, server, "--trace", file)
	o.want(t, verdict.ExitUsage, `trace.jsonl:1: unknown field "tokens"`)
}

func TestBenchSweep(t *testing.T) {
	server := serve(t, refserver.Config{})
	o, dir := shaped(t, server, "--workload", "smoke", "--requests", "12", "--sweep", "concurrency=1,3")
	o.want(t, verdict.ExitPass, "in flight", "12/12", "sweep.json")
	for _, step := range []string{"01-concurrency-1", "02-concurrency-3"} {
		touchstone(t, "judge", filepath.Join(dir, step)).want(t, verdict.ExitPass, "12/12 ok")
	}
	if a, b := plannedIn(t, filepath.Join(dir, "01-concurrency-1")), plannedIn(t, filepath.Join(dir, "02-concurrency-3")); a[0].Messages[0] == b[0].Messages[0] {
		t.Error("two steps ask the same: the second would be answered from the prefix cache")
	}
	var s report.Sweep
	b, err := os.ReadFile(filepath.Join(dir, "sweep.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &s); err != nil || len(s.Steps) != 2 || s.Steps[1].Metrics.Successes != 12 {
		t.Errorf("sweep.json: %v, %s", err, b)
	}
}

// A search whose SLO nothing meets is inconclusive, and one that everything
// meets says that the highest value lies beyond.
func TestBenchSearch(t *testing.T) {
	server := serve(t, refserver.Config{})
	args := []string{"--workload", "smoke", "--requests", "8", "--sweep", "concurrency=1..4", "--slo"}
	o, _ := shaped(t, server, append(args, "ttft=1us")...)
	o.want(t, verdict.ExitInconclusive, "no concurrency met the SLO for 99 %", "missed")
	o, _ = shaped(t, server, append(args, "e2el=1h")...)
	o.want(t, verdict.ExitPass, "every concurrency that was tried met the SLO, up to 4", "met")
}

// A server that talks gibberish fails a sweep, however fast it is.
func TestBenchSweepGibberish(t *testing.T) {
	o, _ := shaped(t, serve(t, refserver.Config{Faults: []string{"qkv-shard-order"}}), "--workload", "smoke", "--requests", "8", "--sweep", "concurrency=2,4")
	o.want(t, verdict.ExitRegression, "void: incorrect")
}

func TestBenchUsage(t *testing.T) {
	server := serve(t, refserver.Config{})
	for want, args := range map[string][]string{
		"prompts of 8192 tokens and answers of 32 are 8224, more than the context of 1024": {"--workload", "long-context"},
		"rate is missing or no number above 0 (-3)":                                        {"--workload", "smoke", "--rate=-3"},
		`unknown arrival ("often")`:                                                        {"--workload", "smoke", "--rate", "3", "--arrival", "often"},
		"rate (3) and a closed loop contradict each other":                                 {"--workload", "smoke", "--rate", "3", "--arrival", "closed"},
		"burstiness (2) belongs to arrival: gamma":                                         {"--workload", "smoke", "--rate", "3", "--arrival", "poisson", "--burstiness", "2"},
		"the ramp (5s) is not over before the duration ends (4s)":                          {"--workload", "smoke", "--rate", "3", "--ramp", "5s", "--duration", "4s"},
		"duration is negative (-4s)":                                                       {"--workload", "smoke", "--duration=-4s"},
		`slo limits an unknown latency ("speed_ms")`:                                       {"--workload", "smoke", "--slo", "speed=5ms"},
		`"ttft=5" is no limit`:                                                             {"--workload", "smoke", "--slo", "ttft=5"},
		"it begins with neither rate= nor concurrency=":                                    {"--sweep", "speed=1,2"},
		`"x" is no number above 0`:                                                         {"--sweep", "rate=1,x"},
		`"8..1" is no range`:                                                               {"--sweep", "rate=8..1"},
		`"1.5" is no number above 0`:                                                       {"--sweep", "concurrency=1.5"},
		"searches for what meets an SLO, and there is none":                                {"--workload", "smoke", "--sweep", "rate=1..8"},
		"this load arrives otherwise (poisson)":                                            {"--workload", "smoke", "--rate", "4", "--sweep", "concurrency=1,2"},
		"--slo-share 2 is no share":                                                        {"--workload", "smoke", "--sweep", "concurrency=1,2", "--slo-share", "2"},
		"are not negative":                                                                 {"--prompt-tokens=-1"},
		"dialogues have no fixed length":                                                   {"--workload", "chat", "--prompt-tokens", "50"},
		"trace none.jsonl can't be read":                                                   {"--trace", "none.jsonl"},
	} {
		o, dir := shaped(t, server, args...)
		o.want(t, verdict.ExitUsage, want)
		if _, err := os.Stat(filepath.Join(dir, exchange.ExchangesFile)); err == nil {
			t.Errorf("%q: a run folder was made", args)
		}
	}
}
