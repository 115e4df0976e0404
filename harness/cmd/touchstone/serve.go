package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"touchstone/fixtures"
	"touchstone/harness/refserver"
	"touchstone/harness/refserver/fault"
	"touchstone/harness/report/table"
)

type serveCmd struct {
	Addr                string        `help:"Address to listen on; port 0 takes a free one." default:"127.0.0.1:8000"`
	GGUF                string        `help:"Model file; the tiny model that is built in, if absent." placeholder:"FILE"`
	ModelName           string        `help:"Name under which the model is served." placeholder:"NAME"`
	Fault               []string      `help:"Fault to put in, e.g. qkv-shard-order or attention-output-lost:layers=0-1. May be given again." placeholder:"NAME" sep:"none"`
	MaxNumSeqs          int           `help:"Sequences in a batch at most; further requests queue." default:"256"`
	MaxNumBatchedTokens int           `help:"Tokens in a step at most; longer prompts are cut into chunks." default:"2048"`
	NumBlocks           int           `help:"Blocks of 16 tokens in the KV cache; 0 sizes it from the model."`
	MaxModelLen         int           `help:"Tokens in a sequence at most; 0 takes the model's own limit."`
	StepTime            time.Duration `help:"No engine step is shorter, so that a speed can be set."`
	PrefillTime         time.Duration `help:"Added to --step-time for each prompt token of the step."`
	StepJitter          percent       `help:"Let --step-time drift by this standard deviation, such as 2%, with a relaxation time of 30 s; servers with one --seed drift together." placeholder:"P%"`
	Seed                int64         `help:"Seed of --step-jitter." default:"1"`
}

// percent is a share, written as a percentage.
type percent float64

// UnmarshalText reads a number and a percent sign.
func (p *percent) UnmarshalText(text []byte) error {
	number, ok := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return fmt.Errorf("%q is no percentage: write it like 2%% or 0.5%%", text)
	}
	*p = percent(v / 100)
	return nil
}

func (c *serveCmd) config() refserver.Config {
	cfg := refserver.Config{
		GGUF: c.GGUF, ModelName: c.ModelName, Faults: c.Fault,
		MaxNumSeqs: c.MaxNumSeqs, MaxNumBatchedTokens: c.MaxNumBatchedTokens, NumBlocks: c.NumBlocks,
		MaxModelLen: c.MaxModelLen, StepTime: c.StepTime, PrefillTime: c.PrefillTime,
		StepJitter: float64(c.StepJitter), Seed: c.Seed, Version: version,
	}
	if c.GGUF == "" {
		cfg.Data = fixtures.Tiny()
	}
	return cfg
}

// Run serves until the context ends, then lets the requests in flight finish.
func (c *serveCmd) Run(a *app) error {
	s, err := refserver.New(c.config())
	if err != nil {
		return usage("touchstone faults lists the faults, touchstone serve --help the other flags", "%w", err)
	}
	defer s.Close()
	l, err := new(net.ListenConfig).Listen(a.ctx, "tcp", c.Addr)
	if err != nil {
		return usage("--addr 127.0.0.1:0 takes a free port", "cannot listen on %s: %w", c.Addr, err)
	}
	with := ""
	if len(c.Fault) > 0 {
		with = ", faults: " + strings.Join(c.Fault, ", ")
	}
	fmt.Fprintf(a.stdout, "touchstone: serving %s on http://%s/v1%s\n", s.ModelName(), l.Addr(), with)
	err = s.Serve(a.ctx, l)
	if a.ctx.Err() != nil && (err == nil || errors.Is(err, a.ctx.Err())) {
		return nil // a server that was told to stop has done its work
	}
	return err
}

type faultsCmd struct {
	Format string `help:"text or json." enum:"text,json" default:"text"`
}

// Run lists the faults.
func (c *faultsCmd) Run(a *app) error {
	if c.Format == "json" {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(fault.All())
	}
	cols := []table.Column{{Title: "fault"}, {Title: "changes"}, {Title: "what it does"}, {Title: "settings"}, {Title: "caught by"}, {Title: "reports"}}
	var rows [][]string
	for _, f := range fault.All() {
		var settings []string
		for _, p := range f.Params {
			settings = append(settings, p.Name+"="+p.Default)
		}
		rows = append(rows, []string{f.Name, string(f.Kind), f.Summary, strings.Join(settings, "\n"), cmp.Or(f.Finding, "nothing yet"), strings.Join(f.Reports, "\n")})
	}
	return table.Render(a.stdout, table.Text, cols, rows, table.Options{MaxWidth: terminalWidth(a)})
}

// readKey reads a key from the first line of a file.
func readKey(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", usage("--api-key-file names a file whose first line is the key", "the key could not be read: %w", err)
	}
	key, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if key == "" {
		return "", usage("put the key on its first line", "the key file %s is empty", file)
	}
	return strings.TrimSpace(key), nil
}

// terminalWidth is COLUMNS, else 120: wide enough for the tables, and the same
// in a pipe everywhere.
func terminalWidth(a *app) int {
	n := 0
	if _, err := fmt.Sscanf(a.env["COLUMNS"], "%d", &n); err == nil && n >= 40 {
		return n
	}
	return 120
}
