package main

import (
	"path/filepath"
	"strings"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

func TestUsage(t *testing.T) {
	server := serve(t, refserver.Config{})
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"no command":         {nil, []string{"gate", "hint:"}},
		"unknown command":    {[]string{"gaet"}, []string{"gaet", "hint: touchstone"}},
		"unknown flag":       {[]string{"gate", "--tierr", "smoke"}, []string{"--tierr", "hint: touchstone gate --help"}},
		"unknown tier":       {[]string{"gate", "--tier", "quick"}, []string{"smoke", "standard", "full", `"quick"`}},
		"unknown workload":   {[]string{"gate", "--target", server, "--workload", "rush"}, []string{"rush", "founding", "--workload none"}},
		"no load to measure": {[]string{"bench", "--target", server, "--workload", "none"}, []string{"measures nothing"}},
		"no concurrency":     {[]string{"gate", "--target", server, "--concurrency", "0"}, []string{"--concurrency 0", "at least one"}},
		"negative limit":     {[]string{"gate", "--target", server, "--max-tokens=-1"}, []string{"--max-tokens -1"}},
		"negative load":      {[]string{"bench", "--target", server, "--requests=-1"}, []string{"--requests"}},
		"a number":           {[]string{"gate", "--max-requests", "many"}, []string{"--max-requests", "many"}},
		"a duration":         {[]string{"gate", "--wait", "30"}, []string{"--wait", "30"}},
		"fault and target":   {[]string{"gate", "--target", server, "--fault", "qkv-shard-order"}, []string{"--fault is for the built-in server", "touchstone serve --fault"}},
		"unknown fault":      {[]string{"gate", "--fault", "gremlins"}, []string{"gremlins", "touchstone faults"}},
		"no name to record":  {[]string{"record", "--target", server}, []string{"--as"}},
		"bad name to record": {[]string{"record", "--target", server, "--as", "../up", "--baselines", t.TempDir()}, []string{"../up"}},
	} {
		t.Run(name, func(t *testing.T) {
			touchstone(t, c.args...).want(t, verdict.ExitUsage, append(c.words, "touchstone:")...)
		})
	}
}

// A CI secret that was not filled in must not turn into a run against the
// server that is built in.
func TestEnvironment(t *testing.T) {
	server := serve(t, refserver.Config{})
	call{env: []string{"TOUCHSTONE_TARGET="}}.run(t, "gate").want(t, verdict.ExitUsage, "TOUCHSTONE_TARGET is set but empty")

	dir := filepath.Join(t.TempDir(), "run")
	env := []string{
		"TOUCHSTONE_TARGET=" + server, "TOUCHSTONE_TIER=smoke", "TOUCHSTONE_WORKLOAD=none", "TOUCHSTONE_OUT=" + dir,
		"TOUCHSTONE_BASELINE=good", "TOUCHSTONE_BASELINES=" + good(t)[3],
		// Not ours, however they look.
		"TOUCHSTONE_VERSION=1.2", "TOUCHSTONE_HELP=true", "TOUCHSTONE_CONCURRENCY=",
	}
	o := call{env: env}.run(t, "gate")
	o.want(t, verdict.ExitPass, "PASS", "tier smoke", "against baseline good", dir)
	o = call{env: env}.run(t, "gate", "--tier", "quick")
	o.want(t, verdict.ExitUsage, "quick") // a flag comes before its twin
	o = call{env: append(env, "TOUCHSTONE_TIER=slow")}.run(t, "gate")
	o.want(t, verdict.ExitUsage, "slow")
}

func TestBadFixtures(t *testing.T) {
	const head = "- id: mine\n  kind: fact\n  tags: [short]\n  user: What is one and one?\n"
	server := serve(t, refserver.Config{})
	for name, c := range map[string]struct{ yaml, line, word string }{
		"wrong field":  {head + "  expcet: {any_of: [two]}\n", ":5", `unknown field "expcet"`},
		"duplicate id": {head + "  expect: {any_of: [two]}\n" + head + "  expect: {any_of: [two]}\n", ":6", `"mine" is there already`},
		"stock id":     {strings.Replace(head, "mine", "capital-norway", 1) + "  expect: {any_of: [two]}\n", ":1", "is there already"},
		"bad YAML":     {head + "  expect: {any_of: [two\n", ":", "bad YAML"},
		"no kind":      {strings.Replace(head, "  kind: fact\n", "", 1) + "  expect: {any_of: [two]}\n", ":1", "kind is missing"},
		"unknown tag":  {strings.Replace(head, "short", "shrot", 1) + "  expect: {any_of: [two]}\n", ":3", "shrot"},
		"empty":        {"", ":1", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			prompts := filepath.Join(dir, "prompts")
			mkdir(t, prompts)
			file := filepath.Join(prompts, "mine.yaml")
			write(t, file, c.yaml)
			for _, flag := range [][]string{{"--prompts", file}, {"--fixtures", dir}} {
				o, run := gated(t, server, flag...)
				o.want(t, verdict.ExitUsage, file+c.line, c.word, "hint:")
				if !missing(run) {
					t.Error("something ran over broken fixtures")
				}
			}
		})
	}
	o, _ := gated(t, server, "--prompts", "nowhere.yaml")
	o.want(t, verdict.ExitUsage, "nowhere.yaml", "--prompts")
}

// One's own prompts run in the smallest tier, too, and are judged.
func TestOwnPrompts(t *testing.T) {
	server := serve(t, refserver.Config{})
	file := filepath.Join(t.TempDir(), "mine.yaml")
	write(t, file, "- id: mine\n  kind: fact\n  tags: [short]\n  user: What is the capital of Norway?\n  expect: {any_of: [Oslo]}\n")
	o, dir := gated(t, server, "--prompts", file)
	o.want(t, verdict.ExitPass)
	lineOf(t, lines(t, dir), "anchors/mine")
}

func TestBaselines(t *testing.T) {
	server := serve(t, refserver.Config{})
	o, _ := gated(t, server, "--baseline", "nobody", "--baselines", good(t)[3])
	o.want(t, verdict.ExitUsage, `no baseline "nobody"`, "there are: good", "touchstone record")

	o, _ = gated(t, server, "--baseline", "good", "--baselines", edited(t, "baseline.json", `"vocab_size": 2048`, `"vocab_size": 4096`))
	o.want(t, verdict.ExitUsage, "4096", "2048", "another model")

	broken := edited(t, "baseline.json", `"schema": 1`, `"schema": 9`)
	o, _ = gated(t, server, "--baseline", "good", "--baselines", broken)
	o.want(t, verdict.ExitUsage, "baseline.json:1", "9", "reads 1")

	renamed := serve(t, refserver.Config{ModelName: "new-name"})
	o, _ = gated(t, renamed, good(t)...)
	o.want(t, verdict.ExitUsage, `"touchstone-tiny"`, `"new-name"`, "--model-alias")
	o, _ = gated(t, renamed, append(good(t), "--model-alias", "another")...)
	o.want(t, verdict.ExitUsage, `"touchstone-tiny"`)
	o, _ = gated(t, renamed, append(good(t), "--model-alias", "touchstone-tiny")...)
	o.want(t, verdict.ExitPass, "against baseline good")
}

// The same model with other token ids is a changed tokenizer or template:
// a finding, and no refusal.
func TestBaselineWithOtherTokens(t *testing.T) {
	other := edited(t, "answers.json", `"prompt_ids": [1, 3, `, `"prompt_ids": [1, 7, `)
	o, dir := gated(t, serve(t, refserver.Config{}), "--baseline", "good", "--baselines", other)
	o.want(t, verdict.ExitRegression, verdict.TokensBaseline)
	if !failed(verdictOf(t, dir), verdict.TokensBaseline) {
		t.Error("tokens.prompt-baseline did not fail")
	}
}
