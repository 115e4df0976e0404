package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"touchstone/harness/coherence"
	"touchstone/harness/health"
	"touchstone/harness/load"
	"touchstone/harness/rounds"
	"touchstone/harness/stat"
)

// run is one result as `vllm bench serve` writes it, in the fields that
// inference-doctor reads and some that it doesn't.
type run struct {
	Backend     string   `json:"backend"`
	Model       string   `json:"model_id"`
	Tokenizer   string   `json:"tokenizer_id"`
	Prompts     int      `json:"num_prompts"`
	Rate        string   `json:"request_rate"`
	Concurrency int      `json:"max_concurrency"`
	GPU         string   `json:"gpu"`
	Duration    float64  `json:"duration"` // s
	Completed   int      `json:"completed"`
	Failed      int      `json:"failed"`
	Input       int      `json:"total_input_tokens"`
	Output      int      `json:"total_output_tokens"`
	Throughput  float64  `json:"output_throughput"` // tok/s
	Requests    float64  `json:"request_throughput"`
	MedianTTFT  float64  `json:"median_ttft_ms"`
	MedianTPOT  float64  `json:"median_tpot_ms"`
	MedianITL   float64  `json:"median_itl_ms"`
	Texts       []string `json:"generated_texts"`
	cpu         float64  // share of the client's cores, which that tool doesn't record
}

const (
	requests    = 1024
	tokens      = 128 // a request
	concurrency = 64
)

// sane is what a healthy build answers.
const sane = "Flask is a small web framework for Python. You create an application object, bind functions to routes, and start the server. " +
	"Templates and extensions are added when they are needed, so that a first page takes only a few lines."

// newRun is a healthy run of some throughput.
func newRun(throughput float64) run {
	return run{
		Backend: "openai", Model: "m", Tokenizer: "m", Prompts: requests, Rate: "inf", Concurrency: concurrency, GPU: "cpu",
		Duration: requests * tokens / throughput, Completed: requests, Input: requests * 512, Output: requests * tokens,
		Throughput: throughput, Requests: throughput / tokens, MedianTPOT: 1000 * concurrency / throughput, MedianITL: 1000 * concurrency / throughput, MedianTTFT: 150,
		Texts: []string{sane}, cpu: 0.3,
	}
}

// set is one of the sets of files that are judged.
type set struct {
	name string
	a, b []run
}

func runs(values [3]float64, change func(*run)) []run {
	var out []run
	for _, v := range values {
		r := newRun(v)
		change(&r)
		out = append(out, r)
	}
	return out
}

// cases are three runs a side, alternated. In the last one b is 10 % faster.
func cases() []set {
	a, b := [3]float64{4000, 4021, 3987}, [3]float64{4005, 3979, 4013}
	same := func(*run) {}
	saturated := func(r *run) { r.MedianITL, r.cpu = 0.0065, 0.99 }
	shorter := func(r *run) { r.Output, r.Duration, r.Requests = r.Output/2, r.Duration/2, 2*r.Requests }
	gibberish := func(r *run) { r.Texts = []string{strings.Repeat("the ", tokens)} }
	return []set{
		{"sound runs", runs(a, same), runs(b, same)},
		{"three copies of one file as a", []run{newRun(4000), newRun(4000), newRun(4000)}, runs(b, same)},
		{"a saturated client: ITL 0.0065 ms beside a TPOT of 16 ms", runs(a, saturated), runs(b, saturated)},
		{"b answers with half as many tokens", runs(a, same), runs(b, shorter)},
		{"b answers gibberish, 10 % faster", runs(a, same), runs([3]float64{4410, 4380, 4425}, gibberish)},
	}
}

// rounds turns the files into rounds, through the gates of harness/load and
// harness/coherence that a round of ours passes.
func (c set) rounds() []rounds.Round {
	var out []rounds.Round
	for i := range c.a {
		out = append(out, c.a[i].round(rounds.A, i), c.b[i].round(rounds.B, i))
	}
	return out
}

func (r run) round(side rounds.Side, i int) rounds.Round {
	out := round(side, i, r.Throughput)
	input, output := float64(r.Input)/float64(r.Completed), float64(r.Output)/float64(r.Completed)
	out.Requests, out.Successes, out.PromptMean, out.OutputMean = r.Prompts, r.Completed, &input, &output
	sum := sha256.Sum256(r.json())
	out.Digest = hex.EncodeToString(sum[:])
	for _, text := range r.Texts {
		for _, f := range coherence.Run(coherence.Text{Text: text}) {
			out.Incorrect = append(out.Incorrect, "coherence."+f.Check)
		}
	}
	bunched := 0.0
	if r.MedianITL < r.MedianTPOT/2 {
		bunched = 0.5 // half of the gaps are nothing: events were read together
	}
	m := load.Metrics{
		Requests: r.Prompts, Successes: r.Completed, OutputTokens: &r.Output, ManyEventReads: &bunched,
		Lengths: &load.Lengths{N: r.Completed, Min: int(output), Mean: output, Max: int(output)},
		TTFT:    &load.Latency{Summary: stat.Summary{N: r.Completed, P50: r.MedianTTFT}},
	}
	watched := &health.Health{Seconds: r.Duration, Cores: 1, CPUSeconds: r.cpu * r.Duration, CPUShare: r.cpu}
	for _, v := range load.Validity(m, watched, nil, load.Want{}) {
		out.Void = append(out.Void, v.Text)
	}
	return out
}

func (r run) json() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and texts always encode
	}
	return b
}

// compareRuns asks the installed program for its verdict on files.
func compareRuns(venv, dir string, c set) (string, error) {
	args := []string{"compare-runs", "--json"}
	for _, s := range []struct {
		flag string
		runs []run
	}{{"--baseline", c.a}, {"--candidate", c.b}} {
		at := filepath.Join(dir, strings.TrimLeft(s.flag, "-"))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return "", err
		}
		for i, r := range s.runs {
			if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("run%d.json", i+1)), r.json(), 0o644); err != nil {
				return "", err
			}
		}
		args = append(args, s.flag, at)
	}
	out, err := exec.Command(filepath.Join(venv, "bin", "inference-doctor"), args...).Output()
	var exit *exec.ExitError // it exits 1 on a failure, 2 or 3 on others
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	var stderr []byte
	if exit != nil {
		stderr = exit.Stderr
	}
	return result(out, stderr)
}

func result(out, stderr []byte) (string, error) {
	var answer struct {
		Result string `json:"result"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("inference-doctor answered %q: %w; %s", out, err, stderr)
	}
	if answer.Result == "" {
		return "", fmt.Errorf("inference-doctor gave no result: %q", out)
	}
	return answer.Result, nil
}
