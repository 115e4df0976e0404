package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/health"
	"touchstone/harness/load"
	"touchstone/harness/scrape"
	"touchstone/harness/stat"
	"touchstone/harness/verdict"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

// broken is a build that lost its attention, with a text that tries to be
// markup and to steer the terminal.
func brokenModel() Model {
	findings := []verdict.Finding{
		{Check: verdict.AnchorsAnswers, Status: verdict.Fail, Summary: "20 known answers that the baseline had right are wrong",
			Measured: "0 of 20 (0 %)", Limit: "at most 2 lost", Baseline: "20 of 20 (100 %)", Where: "anchors/capital-norway",
			Evidence: "What is the capital of Norway? → The train | leaves </p>⏎`walcon`", Reproduce: `curl -sS "${TOUCHSTONE_TARGET%/v1}/v1/chat/completions" -d '{"a":"b"}'`},
		{Check: verdict.ContextInsensitive, Status: verdict.Fail, Summary: "the same whatever stands before", Measured: "12 of 12 (100 %) pairs are one distribution", Limit: "under half"},
		{Check: verdict.ContextConstant, Status: verdict.Pass, Summary: "moves with the last token", Measured: "0 of 5 (0 %) pairs are one distribution", Limit: "under half"},
		{Check: "coherence.char-run", Status: verdict.Fail, Summary: "a run of one character", Where: "anchors/a, byte 3", Evidence: "\\x1b[31m!!!!"},
		{Check: "coherence.char-run", Status: verdict.Fail, Summary: "a run of one character", Where: "anchors/b, byte 3"},
		{Check: verdict.TokensFinish, Status: verdict.Pass, Summary: "agree in all 23 replies", Measured: "0", Limit: "0"},
	}
	nc := []verdict.Uncovered{{Check: verdict.TokensBaseline, Reason: "no baseline"}, {Check: verdict.AnchorsAnswers, Reason: "one"}, {Check: verdict.AnchorsAnswers, Reason: "two"}}
	target := exchange.Target{Engine: "vllm", Version: "0.32.0", Fingerprint: "vllm-0.32.0-abc", Model: "acme/m"}
	return Model{
		Target: target, URL: "http://127.0.0.1:8000", Baseline: "good", Tier: "smoke",
		Base:    &fixture.Baseline{Name: "good", Target: target, Recorded: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)},
		Started: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC),
		Verdict: verdict.Decide(findings, nc, verdict.Required()),
		Load:    &Load{Workload: "founding", GPUs: 8, Metrics: measured(), Reference: &fixture.Reference{Source: "somebody's", Requests: 300, OK: 300, Seconds: 36.6, RequestsPerS: 8.2, OutputTokensPerS: 1049.1, LatencyMeanS: 36.35, LatencyP50S: 36.35, LatencyP99S: 36.44, PromptTokens: 12000, OutputTokens: 38400}},
	}
}

func measured() load.Metrics {
	l := &load.Latency{Summary: stat.Summary{N: 300, Mean: 5000, Min: 10, P50: 4990, P90: 5718.8, P99: 5723.1, Max: 5730}, P99Interval: &load.Interval{Lo: ptr(5722.3), Confidence: 0.95, Needs: 368}}
	return load.Metrics{
		Requests: 300, Successes: 299, Failures: map[exchange.Class]int{exchange.Dropped: 1, exchange.Refused: 0},
		Seconds: ptr(5.74), RequestsPerS: ptr(52.0), OutputTokensPerS: ptr(6663.7), PromptTokens: ptr(12000), OutputTokens: ptr(38273),
		E2EL: l, Lengths: &load.Lengths{N: 299, Min: 1, Mean: 127.6, Max: 128}, TokenSource: "usage", PeakInFlight: 300, MeanInFlight: ptr(265.1),
		NotMeasured: map[string]string{"ttft_ms": "not streamed", "tpot_ms": "not streamed", "itl_ms": "not streamed"},
		Warnings:    []string{"300 values can't bound p99 from above: that takes 368"},
	}
}

// voided is a load of which everything is known, and whose numbers are void.
func voided() Model {
	m := brokenModel()
	m.Verdict = verdict.Verdict{Status: verdict.Pass}
	l := &load.Latency{Summary: stat.Summary{N: 2000, Mean: 50, Min: 10, P50: 49, P90: 70, P99: 90, Max: 99}, P99Interval: &load.Interval{Lo: ptr(88.0), Hi: ptr(93.0), Confidence: 0.95, Needs: 368}}
	x := &m.Load.Metrics
	x.TTFT, x.TPOT, x.ITL, x.Normal, x.ClientLag = l, l, l, l, l
	x.TokensPerChunk = ptr(1.02)
	x.Plateau = &load.Plateau{StartS: 0.5, Seconds: 4.25, OutputTokensPerS: ptr(7012.34), TotalTokensPerS: ptr(9001.5), Trend: &load.Drift{Bins: 12, BinS: 1, Change: -0.081, P: 0.002}}
	x.Goodput = &load.Goodput{SLO: map[string]float64{"ttft_ms": 200, "tpot_ms": 20}, Good: 150, Share: 0.5, PerS: ptr(26.1)}
	m.Load.Reference = nil
	m.Load.Health = &health.Health{Cores: 2, CPUShare: 0.93, LagP99MS: 21.4}
	m.Load.Server = &scrape.Server{OutputTokens: ptr(38273.0), TTFT: ptr(47.1), TPOT: ptr(9.871), CachedShare: ptr(0.25), AcceptanceLength: ptr(2.5), AcceptanceRate: ptr(0.5), Preemptions: ptr(3.0)}
	m.Load.Void = []load.Void{
		{Reason: load.VoidCPU, Text: "the client used 93 % of its 2 cores, more than 80 %: give it more cores, or make less load"},
		{Reason: load.VoidTrend, Text: "the output rate changed by -8 % over the plateau"},
	}
	return m
}

func TestGolden(t *testing.T) {
	passing := brokenModel()
	passing.Verdict = verdict.Decide([]verdict.Finding{
		{Check: verdict.CoherenceText, Status: verdict.Pass, Summary: "23 answers read, none degenerate", Measured: "0", Limit: "0"},
		{Check: verdict.TokensFinish, Status: verdict.Pass}, {Check: verdict.AnchorsAnswers, Status: verdict.Pass}, {Check: verdict.ContextInsensitive, Status: verdict.Pass},
	}, nil, verdict.Required())
	reportOnly := brokenModel()
	reportOnly.ReportOnly = true
	for name, render := range map[string]func(*bytes.Buffer) error{
		"broken.screen.txt":      func(b *bytes.Buffer) error { return Screen(b, brokenModel(), 100) },
		"broken.screen80.txt":    func(b *bytes.Buffer) error { return Screen(b, brokenModel(), 80) },
		"broken.txt":             func(b *bytes.Buffer) error { return Render(b, brokenModel(), Text, 120) },
		"broken.md":              func(b *bytes.Buffer) error { return Render(b, brokenModel(), Markdown, 0) },
		"passing.screen.txt":     func(b *bytes.Buffer) error { return Screen(b, passing, 100) },
		"passing.md":             func(b *bytes.Buffer) error { return Render(b, passing, Markdown, 0) },
		"report-only.screen.txt": func(b *bytes.Buffer) error { return Screen(b, reportOnly, 100) },
		"void.txt":               func(b *bytes.Buffer) error { return RenderLoad(b, voided(), 120) },
		"void.md":                func(b *bytes.Buffer) error { return Render(b, voided(), Markdown, 0) },
		"load.txt":               func(b *bytes.Buffer) error { return RenderLoad(b, passing, 120) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := render(&b); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, b.Bytes()) {
				if err := os.WriteFile(path+".got", b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Errorf("%s differs, see %s.got; -update accepts it", path, path)
			}
		})
	}
}

func TestScreenSaysItFirst(t *testing.T) {
	var b strings.Builder
	if err := Screen(&b, brokenModel(), 100); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.HasPrefix(lines[0], "FAIL  acme/m on vllm 0.32.0, against baseline good") {
		t.Errorf("the first line is %q", lines[0])
	}
	if n := strings.Count(b.String(), "curl "); n != 1 {
		t.Errorf("%d commands on one screen", n)
	}
	if len(lines) > 45 {
		t.Errorf("%d lines are no screen", len(lines))
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := Render(&strings.Builder{}, brokenModel(), "pdf", 80); err == nil {
		t.Error("an unknown format renders")
	}
}

// full is a writer whose disk is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreSeen(t *testing.T) {
	for name, err := range map[string]error{
		"screen": Screen(full{}, brokenModel(), 100), "text": Render(full{}, brokenModel(), Text, 100),
		"markdown": Render(full{}, brokenModel(), Markdown, 100), "load": RenderLoad(full{}, brokenModel(), 100),
	} {
		if err == nil {
			t.Errorf("%s: a full disk goes unnoticed", name)
		}
	}
}
