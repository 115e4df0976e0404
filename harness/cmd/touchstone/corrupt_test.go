package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"touchstone/fixtures"
	"touchstone/harness/refserver/corrupt"
	"touchstone/harness/verdict"
)

// modelFile writes the tiny model into a new folder.
func modelFile(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(file, fixtures.Tiny(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func TestCorruptCommand(t *testing.T) {
	dir, in := modelFile(t)
	out := filepath.Join(dir, "out.gguf")
	touchstone(t, "corrupt", "--fault", "qkv-swap:layers=0-1", in, out).
		want(t, verdict.ExitPass, out, in, "qkv-swap:layers=0-1,order=kvq", "6 of 38 tensors changed")
	touchstone(t, "corrupt", "--fault", "ulp", in, out).want(t, verdict.ExitUsage, "there already", "--force", "nothing was written")
	o := touchstone(t, "corrupt", "--force", "--format", "json", "--fault", "rope-base", in, out)
	o.want(t, verdict.ExitPass)
	var r corrupt.Result
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || r.Fault != "rope-base:base=500000" || !r.Header || r.Tensors != 38 {
		t.Errorf("the result is %+v, %v", r, err)
	}
}

func TestCorruptCommandRefuses(t *testing.T) {
	dir, in := modelFile(t)
	out := filepath.Join(dir, "out.gguf")
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{in, out}, []string{"no --fault", "--list"}},
		{[]string{"--fault", "ulp", in}, []string{"two files", "IN.gguf OUT.gguf"}},
		{[]string{"--fault", "qkv-swpa", in, out}, []string{`did you mean "qkv-swap"`}},
		{[]string{"--fault", "qkv-swap:layer=0", in, out}, []string{`did you mean "layers"`}},
		{[]string{"--fault", "ulp", in, in}, []string{"is the model itself"}},
		{[]string{"--fault", "rope-base:base=10000", in, out}, []string{"is 10000 already"}},
		{[]string{"--fault", "ulp", filepath.Join(dir, "absent.gguf"), out}, []string{"cannot be read", "absent.gguf"}},
		{[]string{"--list", "--fault", "ulp"}, []string{"--list writes no copy"}},
	} {
		touchstone(t, append([]string{"corrupt"}, c.args...)...).want(t, verdict.ExitUsage, c.words...)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a refused copy was written: %v", err)
	}
}

func TestCorruptInterrupted(t *testing.T) {
	dir, in := modelFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call{ctx: ctx}.run(t, "corrupt", "--fault", "ulp", in, filepath.Join(dir, "out.gguf")).want(t, verdict.ExitInterrupted, "interrupted")
}

func TestCorruptList(t *testing.T) {
	touchstone(t, "corrupt", "--list").want(t, verdict.ExitPass, "attention-output-zero", "layers=all", "vllm-project/vllm#41057", "ulp")
	o := touchstone(t, "corrupt", "--list", "--format", "json")
	o.want(t, verdict.ExitPass)
	var faults []corrupt.Fault
	if err := json.Unmarshal([]byte(o.stdout), &faults); err != nil || len(faults) != len(corrupt.All()) {
		t.Errorf("%d faults are listed, %v", len(faults), err)
	}
}
