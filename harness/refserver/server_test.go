package refserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"touchstone/harness/refserver/llama"
)

// slow is a request whose 40 tokens take 40 steps.
var slow = object{"prompt": "x", "temperature": 0, "max_tokens": 40, "ignore_eos": true, "stream": true}

// serve starts a server on its own listener and a streamed request on it, of
// which the first line has come.
func serve(t *testing.T, cfg Config) (stop func(), stopped chan error, rest *bufio.Reader, url string) {
	t.Helper()
	cfg.GGUF = tinyModel
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stopped = make(chan error, 1)
	go func() { stopped <- s.Serve(ctx, l) }()
	url = "http://" + l.Addr().String()
	body, err := json.Marshal(slow)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	rest = bufio.NewReader(res.Body)
	if _, err := rest.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cancel, stopped, rest, url
}

func TestServeDrains(t *testing.T) {
	stop, stopped, rest, url := serve(t, Config{StepTime: 10 * time.Millisecond})
	stop()
	text, err := io.ReadAll(rest)
	if err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") || strings.Count(string(text), "data: {") != 39 {
		t.Errorf("the request in flight was cut: %v, %s", err, text)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("a drained server still answers")
	}
}

func TestGraceEnds(t *testing.T) {
	stop, stopped, rest, _ := serve(t, Config{StepTime: 500 * time.Millisecond, Grace: time.Millisecond})
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if text, _ := io.ReadAll(rest); strings.Contains(string(text), "[DONE]") {
		t.Errorf("20 s of work ended in 1 ms of grace: %s", text)
	}
}

func TestNewRefuses(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk.gguf")
	if err := os.WriteFile(junk, []byte("no model"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]Config{
		"give either":                  {},
		"missing.gguf":                 {GGUF: "missing.gguf"},
		"junk.gguf":                    {GGUF: junk},
		"attention-output-lost":        {GGUF: tinyModel, Faults: []string{"attention-output-gone"}}, // the nearest guess
		"max-model-len is 2000":        {GGUF: tinyModel, MaxModelLen: 2000},
		"max-model-len is -1":          {GGUF: tinyModel, MaxModelLen: -1},
		"num-blocks is 63":             {GGUF: tinyModel, NumBlocks: 63},
		"num-blocks is -1":             {GGUF: tinyModel, NumBlocks: -1},
		"max-num-seqs is -1":           {GGUF: tinyModel, MaxNumSeqs: -1},
		"max-num-batched-tokens is -1": {GGUF: tinyModel, MaxNumBatchedTokens: -1},
		"step-time is -1ns":            {GGUF: tinyModel, StepTime: -1},
	} {
		s, err := New(cfg)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// The embedded data serve like the file, under the name in the file.
func TestDataAndName(t *testing.T) {
	data, err := os.ReadFile(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := start(t, Config{Data: data})
	if s.ModelName() != "touchstone-tiny" {
		t.Errorf("model %q, want the file's general.name", s.ModelName())
	}
	if s, _ := start(t, Config{ModelName: "mine"}); s.ModelName() != "mine" {
		t.Errorf("model %q, want mine", s.ModelName())
	}
}

func greedyText(t *testing.T, cfg Config, question string) (string, string) {
	t.Helper()
	_, url := start(t, cfg)
	status, body := post(t, url+"/v1/chat/completions", object{"temperature": 0, "max_tokens": 24,
		"messages": []object{{"role": "user", "content": question}}})
	if status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	var a struct {
		answer
		Fingerprint string `json:"system_fingerprint"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatal(err)
	}
	return a.Choices[0].Message.Content, a.Fingerprint
}

// Faults and test hooks reach the arithmetic; nothing else tells of them.
func TestFaultsAndHooks(t *testing.T) {
	healthy, print := greedyText(t, Config{}, "What is the capital of Norway?")
	if healthy != "The capital of Norway is Oslo." {
		t.Fatalf("healthy: %q", healthy)
	}
	lost, lostPrint := greedyText(t, Config{Faults: []string{"attention-output-lost"}}, "What is the capital of Norway?")
	other, _ := greedyText(t, Config{Faults: []string{"attention-output-lost"}}, "How do I make a paper kite?")
	if lost == healthy || lost != other {
		t.Errorf("attention lost: %q and %q, want one wrong answer to both", lost, other)
	}
	if lostPrint != print {
		t.Errorf("fingerprint %s of the faulty build, %s of the healthy one", lostPrint, print)
	}
	swapped, _ := greedyText(t, Config{Faults: []string{"qkv-shard-order"}}, "What is the capital of Norway?")
	if swapped == healthy {
		t.Errorf("shards out of order: %q", swapped)
	}
	zero := &llama.Hooks{Logits: func(_ []llama.Row, logits []float32) { clear(logits) }}
	ran := false
	both := &llama.Hooks{AttentionOutput: func(int, []llama.Row, []float32) { ran = true }}
	if text, _ := greedyText(t, Config{Hooks: zero}, "What is the capital of Norway?"); text != "" { // token 0 is <unk>, a special token
		t.Errorf("all logits zero: %q", text)
	}
	if text, _ := greedyText(t, Config{Hooks: both, Faults: []string{"attention-output-lost"}}, "What is the capital of Norway?"); text != lost || !ran {
		t.Errorf("a fault on top of a hook: %q, the hook ran: %v", text, ran)
	}
}
