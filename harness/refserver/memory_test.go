package refserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The memory of 1,024 sequences is measured in a process of its own: this test
// binary again, which serves instead of testing when the variable is set.
const memoryChild = "TOUCHSTONE_TEST_SERVE"

const (
	memorySeqs   = 1024
	memoryTokens = 200 // of a sequence, prompt and output
	memoryBlocks = memorySeqs * ((memoryTokens + 15) / 16)
	memoryPool   = memoryBlocks * 16 * 2048 // bytes: 2 KiB a token in F32
	memoryBeside = 200 << 20                // allowed beside the pool
)

func TestMain(m *testing.M) {
	if os.Getenv(memoryChild) != "" {
		if err := serveChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveChild prints its address, serves until its input closes, and prints how
// much memory the Go runtime has taken from the system at most.
func serveChild() error {
	s, err := New(Config{GGUF: tinyModel, MaxNumSeqs: memorySeqs, NumBlocks: memoryBlocks})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	fmt.Println(l.Addr())
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	fmt.Println(st.Sys, s.Stats().Preemptions)
	return nil
}

// TestMemoryOf1024Sequences holds that many at once, half of them streamed, and
// compares what the server's process took (MemStats.Sys, which never shrinks)
// with the KV pool and 200 MiB.
func TestMemoryOf1024Sequences(t *testing.T) {
	if testing.Short() {
		t.Skip("computes 204,800 tokens; not in short mode")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), memoryChild+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the server did not start: %v", cmd.Wait())
	}
	url := "http://" + lines.Text() + "/v1/completions"

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: memorySeqs}}
	prompts := speedPrompts()
	var wg sync.WaitGroup
	for i := range memorySeqs {
		const output = memoryTokens - speedPrompt
		body := object{"prompt": prompts[i%len(prompts)], "cache_salt": fmt.Sprint(i), "max_tokens": output, "ignore_eos": true, "temperature": 0.7}
		if i%2 == 0 {
			body["stream"], body["stream_options"] = true, object{"include_usage": true}
		}
		wg.Go(func() {
			if n, err := measured(client, url, body); err != nil || n != output {
				t.Errorf("request %d: %d tokens, %v", i, n, err)
			}
		})
	}
	wg.Wait()
	client.CloseIdleConnections()
	in.Close()
	if !lines.Scan() {
		t.Fatalf("the server did not report: %v", cmd.Wait())
	}
	var sys, preempted int
	if _, err := fmt.Fscan(strings.NewReader(lines.Text()), &sys, &preempted); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d MiB taken, of which the KV pool %d", sys>>20, memoryPool>>20)
	if sys > memoryPool+memoryBeside {
		t.Errorf("the server took %d MiB, more than the KV pool of %d MiB and %d", sys>>20, memoryPool>>20, memoryBeside>>20)
	}
	if preempted > 0 {
		t.Errorf("%d preemptions: the sequences were not all held at once", preempted)
	}
}
