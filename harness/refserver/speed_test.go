package refserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/viterin/vek/vek32"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/llama"
)

// The measured load: distinct prompts, so that nothing comes from the cache.
const (
	speedSeqs   = 256
	speedPrompt = 64
	speedOutput = 128
)

// BenchmarkServer measures output tokens per second over HTTP, with the client
// on the same cores, beside what the model does without a server and what the
// cores can multiply. "of-arithmetic" is a rate's share of the plain matrix
// product, at 2 floating-point operations a parameter and token, prompt tokens
// counted.
func BenchmarkServer(b *testing.B) {
	b.Run("arithmetic", benchArithmetic)
	b.Run("model", benchModel)
	b.Run("http", func(b *testing.B) { benchHTTP(b, object{}) })
	b.Run("http-sampled", func(b *testing.B) { benchHTTP(b, object{"temperature": 0.7}) })
	b.Run("http-stream", func(b *testing.B) { benchHTTP(b, object{"stream": true}) })
	b.Run("http-stream-sampled", func(b *testing.B) { benchHTTP(b, object{"stream": true, "temperature": 0.7}) })
}

var arithmetic float64 // FLOP/s, measured by the first sub-benchmark

// benchArithmetic multiplies 256×128 by 128×352, the tiny model's feed-forward
// layer, on every core.
func benchArithmetic(b *testing.B) {
	const m, k, n, times = 256, 128, 352, 100
	cores := runtime.GOMAXPROCS(0)
	for b.Loop() {
		var wg sync.WaitGroup
		for range cores {
			wg.Go(func() {
				x, w, y := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				for range times {
					vek32.MatMul_Into(y, x, w, k)
				}
			})
		}
		wg.Wait()
	}
	arithmetic = float64(2*m*k*n*times*cores) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(arithmetic/1e9, "GFLOP/s")
}

func reportSpeed(b *testing.B, params, tokens int) {
	rate := float64(tokens) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "tok/s")
	if arithmetic > 0 {
		all := rate * (speedPrompt + speedOutput) / speedOutput
		b.ReportMetric(all*2*float64(params)/arithmetic, "of-arithmetic")
	}
}

// benchModel runs the same load on the model alone, greedily.
func benchModel(b *testing.B) {
	f, err := gguf.Open(tinyModel)
	if err != nil {
		b.Fatal(err)
	}
	m, err := llama.Load(f, nil)
	if err != nil {
		b.Fatal(err)
	}
	const blocks = (speedPrompt + speedOutput + llama.BlockSize - 1) / llama.BlockSize
	pool := llama.NewPool(m, speedSeqs*blocks)
	seqs := make([]*llama.Seq, speedSeqs)
	for i := range seqs {
		seqs[i] = &llama.Seq{ID: uint64(i)}
		for k := range blocks {
			seqs[i].Blocks = append(seqs[i].Blocks, int32(i*blocks+k))
		}
	}
	logits := make([]float32, speedSeqs*m.Config().Vocab)
	prompts := speedPrompts()
	for b.Loop() {
		for at := 0; at < speedSeqs; at += 32 { // 2,048 rows a step
			var rows []llama.Row
			for i := at; i < at+32; i++ {
				for pos, id := range prompts[i] {
					rows = append(rows, llama.Row{Seq: seqs[i], Token: int32(id), Pos: pos})
				}
			}
			m.Forward(rows, pool, nil)
		}
		rows := make([]llama.Row, speedSeqs)
		for pos := range speedOutput {
			for i := range rows {
				rows[i] = llama.Row{Seq: seqs[i], Token: int32(vek32.ArgMax(logits[i*m.Config().Vocab:][:m.Config().Vocab])), Pos: speedPrompt + pos, Logits: true}
			}
			m.Forward(rows, pool, logits)
		}
	}
	reportSpeed(b, parameters(f), speedSeqs*speedOutput)
}

func speedPrompts() [][]int {
	rng := rand.New(rand.NewPCG(1, 1))
	out := make([][]int, speedSeqs)
	for i := range out {
		out[i] = make([]int, speedPrompt)
		for k := range out[i] {
			out[i][k] = 6 + rng.IntN(2042) // ordinary tokens
		}
	}
	return out
}

func benchHTTP(b *testing.B, extra object) {
	s, url := start(b, Config{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: speedSeqs}}
	defer client.CloseIdleConnections()
	n := 0
	for b.Loop() {
		var wg sync.WaitGroup
		for i, p := range speedPrompts() {
			body := object{"prompt": p, "max_tokens": speedOutput, "ignore_eos": true, "temperature": 0,
				"cache_salt": fmt.Sprint(n), "stream_options": nil}
			for k, v := range extra {
				body[k] = v
			}
			if body["stream"] == true {
				body["stream_options"] = object{"include_usage": true}
			}
			wg.Go(func() {
				if got, err := measured(client, url+"/v1/completions", body); err != nil || got != speedOutput {
					b.Errorf("request %d: %d tokens, %v", i, got, err)
				}
			})
		}
		wg.Wait()
		n++
	}
	if st := s.Stats(); st.Hits > 0 {
		b.Errorf("%d prompt tokens came from the cache", st.Hits)
	}
	reportSpeed(b, 1_000_576, speedSeqs*speedOutput)
}

// measured sends a request, reads the reply as a load generator does, line by
// line, and returns the completion tokens of its usage.
func measured(client *http.Client, url string, body object) (int, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	res, err := client.Post(url, "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var last []byte
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if bytes.Contains(line, []byte(`"usage"`)) || body["stream"] == nil {
			last = append(last[:0], bytes.TrimPrefix(line, []byte("data: "))...)
		}
		if err == bufio.ErrBufferFull {
			return 0, err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	var a answer
	if err := json.Unmarshal(last, &a); err != nil {
		return 0, fmt.Errorf("%w in %q", err, last)
	}
	return a.Usage.Completion, nil
}
