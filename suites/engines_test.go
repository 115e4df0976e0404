//go:build engines

package suites

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"touchstone/fixtures"
	"touchstone/harness/client"
	"touchstone/harness/coherence"
	"touchstone/harness/engine"
	"touchstone/harness/fixture"
	"touchstone/harness/gate"
	"touchstone/harness/launch"
	"touchstone/harness/refserver/corrupt"
	"touchstone/harness/verdict"
)

// These tests start real engines, so they have a build tag and a make target
// of their own: make engine-llama engine-vllm test-engines.

const (
	cacheDir   = "../fixtures/engines/cache"
	enginesDoc = "../docs/engines.md"
)

// real is a model on a real engine.
type real struct {
	name  string
	ready time.Duration // until it must generate
	build func(t *testing.T, variant variant) launch.Build
}

// variant is a build of an engine, and what the gate must say of it.
type variant struct {
	name    string
	model   string   // another file of the model, or
	corrupt string   // a fault in the weights' file, or
	fault   string   // a fault in the engine's own code
	flags   []string // a benign change
	status  verdict.Status
	cause   string // the first cause; "": not asked for
}

// llama is llama-server on a GGUF file.
func llama(name, model string) real {
	return real{name: name, ready: 2 * time.Minute, build: func(t *testing.T, v variant) launch.Build {
		t.Helper()
		file := model
		if v.model != "" {
			file = must(t, v.model, "make engine-llama")
		}
		if v.corrupt != "" {
			file = filepath.Join(t.TempDir(), "corrupted.gguf")
			s, err := corrupt.Parse(v.corrupt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.File(t.Context(), model, file, false); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"-m", file, "--alias", "m", "--host", "{host}", "--port", "{port}", "-c", "4096", "-np", "4", "-t", "2", "--no-ui", "--metrics"}
		return launch.Build{Name: "llama-server", Path: must(t, filepath.Join(cacheDir, "llama", "llama-server"), "make engine-llama"),
			Args: append(args, v.flags...)}
	}}
}

// vllm is vLLM's CPU build on a Hugging Face folder, with flags of every build.
func vllm(name, model string, flags ...string) real {
	return real{name: name, ready: 5 * time.Minute, build: func(t *testing.T, v variant) launch.Build {
		t.Helper()
		dir, err := filepath.Abs(filepath.Join(cacheDir, "vllm"))
		if err != nil {
			t.Fatal(err)
		}
		must(t, filepath.Join(dir, "venv", "bin", "vllm"), "make engine-vllm")
		script, err := filepath.Abs("../fixtures/engines/vllm-serve.sh")
		if err != nil {
			t.Fatal(err)
		}
		b := launch.Build{Name: "vllm", Path: script, Args: slices.Concat([]string{dir, model, "{port}", "--served-model-name", "m"}, flags, v.flags)}
		if v.fault != "" {
			b.Env = []string{"TOUCHSTONE_VLLM_FAULT=" + v.fault}
		}
		return b
	}}
}

// must returns the absolute path of a file that a make target puts there.
func must(t *testing.T, path, target string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		t.Fatalf("%v: run %s first", err, target)
	}
	return abs
}

func tinyFile(t *testing.T) string {
	return must(t, "../fixtures/models/tiny/touchstone-tiny-f32.gguf", "git checkout")
}

// weights are the defects of a file that any engine must show.
func weights() []variant {
	var out []variant
	for _, f := range corrupt.All() {
		v := variant{name: "corrupt " + f.Name, corrupt: f.Name, status: verdict.Fail, cause: firstCause[f.Name]}
		if f.Benign {
			v.status = verdict.Pass
		}
		out = append(out, v)
	}
	return out
}

func TestLlamaTiny(t *testing.T) {
	gateEngine(t, llama("llama-server, touchstone-tiny", tinyFile(t)), append([]variant{
		{name: "healthy, restarted", status: verdict.Pass},
		{name: "another batch size and thread count", flags: []string{"-b", "64", "-ub", "64", "-t", "1"}, status: verdict.Pass},
		{name: "F16 instead of F32", model: filepath.Join(cacheDir, "llama", "touchstone-tiny-F16.gguf"), status: verdict.Pass},
	}, weights()...))
}

func TestLlamaSmolLM2(t *testing.T) {
	model := must(t, filepath.Join(cacheDir, "llama", "SmolLM2-135M-Instruct.Q4_1.gguf"), "make engine-llama")
	gateEngine(t, llama("llama-server, SmolLM2-135M", model), []variant{
		{name: "healthy, restarted", status: verdict.Pass},
		{name: "another batch size and thread count", flags: []string{"-b", "64", "-ub", "64", "-t", "1"}, status: verdict.Pass},
		{name: "corrupt attention-output-zero", corrupt: "attention-output-zero", status: verdict.Fail, cause: verdict.CauseAttentionLost},
		{name: "corrupt rope-base", corrupt: "rope-base", status: verdict.Fail},
	})
}

func TestVLLMTiny(t *testing.T) {
	gateEngine(t, vllm("vLLM, touchstone-tiny", "tiny"), []variant{
		{name: "healthy, restarted", status: verdict.Pass},
		{name: "`--max-num-seqs 5`, chunks of 48", flags: []string{"--max-num-seqs", "5", "--max-num-batched-tokens", "48"}, status: verdict.Pass},
		{name: "attention-output-lost", fault: "attention-output-lost", status: verdict.Fail, cause: verdict.CauseAttentionLost},
		{name: "qkv-shard-order", fault: "qkv-shard-order", status: verdict.Fail, cause: verdict.CauseWeightsMisplaced},
		{name: "attention-output-lost:phase=decode", fault: "attention-output-lost:phase=decode", status: verdict.Fail},
		{name: "gate-up-shard-order", fault: "gate-up-shard-order", status: verdict.Fail},
		{name: "kv-blocks-of-another", fault: "kv-blocks-of-another", status: verdict.Fail},
		{name: "nan-token", fault: "nan-token", status: verdict.Fail, cause: verdict.CauseNaN},
		{name: "rope-base:times=50", fault: "rope-base:times=50", status: verdict.Fail},
		{name: "slow-1 (benign)", fault: "slow-1", status: verdict.Pass},
	})
}

// SmolLM2 runs in float32: a processor without instructions for bfloat16 makes
// 3 to 13 tokens a second in that, and a smoke tier of two thousand tokens
// would take a quarter of an hour.
func TestVLLMSmolLM2(t *testing.T) {
	float32 := []string{"--dtype", "float32"}
	gateEngine(t, vllm("vLLM, SmolLM2-135M", "smollm2", float32...), []variant{
		{name: "healthy, restarted", status: verdict.Pass},
		{name: "`--max-num-seqs 5`, chunks of 48", flags: []string{"--max-num-seqs", "5", "--max-num-batched-tokens", "48"}, status: verdict.Pass},
		{name: "attention-output-lost", fault: "attention-output-lost", status: verdict.Fail, cause: verdict.CauseAttentionLost},
		{name: "qkv-shard-order", fault: "qkv-shard-order", status: verdict.Fail, cause: verdict.CauseWeightsMisplaced},
	})
}

// gateEngine records the healthy engine, then gates each variant against it.
func gateEngine(t *testing.T, r real, variants []variant) {
	set, err := fixture.Load(fixture.Options{FS: fixtures.FS, ValidTag: coherence.ValidTag})
	if err != nil {
		t.Fatal(err)
	}
	var base *fixture.Baseline
	t.Run("record", func(t *testing.T) {
		url := start(t, r, variant{})
		first, second := runOn(t, url, set, "smoke", nil), runOn(t, url, set, "smoke", nil)
		if first.Verdict.Status == verdict.Fail {
			t.Errorf("the healthy engine is judged %v without a baseline: %v", first.Verdict.Status, failed(first.Verdict))
		}
		base = gate.NewBaseline("good", first, second)
	})
	if base == nil {
		t.Fatal("no baseline")
	}
	lines := map[string]string{}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			began := time.Now()
			res := runOn(t, start(t, r, v), set, "smoke", base)
			took := time.Since(began).Round(time.Second)
			if res.Verdict.Status != v.status {
				t.Errorf("judged %v, want %v: %v", res.Verdict.Status, v.status, failed(res.Verdict))
			}
			cause := ""
			if len(res.Verdict.Diagnosis) > 0 {
				c := res.Verdict.Diagnosis[0]
				cause = fmt.Sprintf("%s (%s)", c.Cause, c.Confidence)
			}
			if v.cause != "" && !strings.HasPrefix(cause, v.cause) {
				t.Errorf("the first cause is %q, want %q", cause, v.cause)
			}
			lines[v.name] = fmt.Sprintf("| %s | %v | %s | %s | %v |", v.name, res.Verdict.Status, areas(res.Verdict), cause, took)
			t.Log(lines[v.name])
		})
	}
	writeTable(t, r.name, slices.DeleteFunc(slices.Clone(variants), func(v variant) bool { return lines[v.name] == "" }), lines)
}

// start starts an engine and stops it at the end of the test.
func start(t *testing.T, r real, v variant) (url string) {
	t.Helper()
	b := r.build(t, v)
	b.Log = filepath.Join(t.TempDir(), "engine.log")
	p, err := launch.Start(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(client.Options{BaseURL: p.URL})
	if err != nil {
		t.Fatal(err)
	}
	// A model that never generates is gated all the same: that is its finding.
	err = p.Await(t.Context(), r.ready, time.Second, func(ctx context.Context) error {
		_, _, _, err := c.Get(ctx, "/v1/models")
		return err
	})
	if err == nil {
		_, err = engine.Find(t.Context(), c, "", engine.Wait{Limit: r.ready, Interval: time.Second})
	}
	if err != nil && v.status != verdict.Fail {
		t.Fatal(err)
	}
	return p.URL
}

// areas are the areas in which something failed.
func areas(v verdict.Verdict) string {
	seen := map[string]bool{}
	for _, c := range failed(v) {
		seen[string(verdict.AreaOf(c))] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// writeTable puts an engine's rows into docs/engines.md when -update is given.
// The times are this machine's, so nothing is compared.
func writeTable(t *testing.T, engine string, variants []variant, lines map[string]string) {
	t.Helper()
	if !*update {
		return
	}
	table := "| build | verdict | caught by | first cause named | time |\n|---|---|---|---|---|\n"
	for _, v := range variants {
		table += lines[v.name] + "\n"
	}
	documented(t, enginesDoc, "<!-- "+engine+" -->\n", "<!-- end of "+engine+" -->", table)
}
