// Package refserver is the reference server: a real, small inference engine
// behind vLLM's API, healthy or with named faults in its arithmetic.
package refserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"touchstone/harness/refserver/api"
	"touchstone/harness/refserver/fault"
	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/llama"
	"touchstone/harness/refserver/sched"
	"touchstone/harness/refserver/token"
)

// Config says what to serve and how. The zero value of a size takes its default.
type Config struct {
	GGUF string // the model's file; or
	Data []byte // its contents

	ModelName string   // the id it is served under; default general.name, else the file's name
	Faults    []string // as fault.Parse reads them
	// Hooks are installed before the faults, which compose on top. For tests.
	Hooks *llama.Hooks

	MaxNumSeqs          int           // sequences that run at a time; 256
	MaxNumBatchedTokens int           // rows of a step; 2,048
	NumBlocks           int           // of the KV cache, 16 tokens each; default: as many as fit into DefaultCacheBytes
	MaxModelLen         int           // prompt and generated tokens of a sequence; default: the model's context
	StepTime            time.Duration // no step of the engine is shorter, but for what the next two and speed faults change
	PrefillTime         time.Duration // added to StepTime for each prompt token of the step
	StepJitter          float64       // relative standard deviation of a step's length, which drifts; sched.Engine has the formula
	Seed                int64         // of the jitter: servers with one seed drift together
	Grace               time.Duration // how long Serve lets requests finish after its context ended; 30 s
	Version             string        // of the server; "dev"
}

// DefaultCacheBytes sizes the KV cache when NumBlocks does not. With the tiny
// model's 2 KiB a token it holds 1,024 sequences of 256 tokens. Memory that is
// never written is never taken.
const DefaultCacheBytes = 512 << 20

// Server is a loaded model with its engine and API.
type Server struct {
	engine  *sched.Engine
	handler http.Handler
	grace   time.Duration
	name    string
}

// New loads the model, puts the faults in and starts the engine.
func New(cfg Config) (*Server, error) {
	f, fingerprint, err := open(cfg)
	if err != nil {
		return nil, err
	}
	model, paces, err := load(f, cfg)
	if err != nil {
		return nil, err
	}
	tok, err := token.New(f)
	if err != nil {
		return nil, err
	}
	template, err := chatTemplate(f, tok)
	if err != nil {
		return nil, err
	}
	if cfg.ModelName == "" {
		if cfg.ModelName, err = nameOf(f); err != nil {
			return nil, err
		}
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Grace == 0 {
		cfg.Grace = 30 * time.Second
	}
	engine, trained, err := startEngine(model, tok, &cfg, paces)
	if err != nil {
		return nil, err
	}
	return &Server{engine: engine, grace: cfg.Grace, name: cfg.ModelName, handler: api.New(api.Config{
		Engine: engine, Tokenizer: tok, Template: template, ModelName: cfg.ModelName,
		MaxModelLen: cfg.MaxModelLen, TrainedLen: trained, Parameters: parameters(f),
		Version: cfg.Version, Fingerprint: "touchstone-" + cfg.Version + "-" + fingerprint,
	})}, nil
}

// open parses the file. The fingerprint is eight hexadecimal digits of its
// SHA-256, which covers weights and vocabulary; a fault leaves it alone, as a
// miscompiled kernel would.
func open(cfg Config) (*gguf.File, string, error) {
	if (cfg.GGUF == "") == (cfg.Data == nil) {
		return nil, "", errors.New("refserver: give either a GGUF file or the data of one")
	}
	data, name := cfg.Data, "embedded model"
	if cfg.GGUF != "" {
		var err error
		if data, err = os.ReadFile(cfg.GGUF); err != nil {
			return nil, "", fmt.Errorf("the model cannot be read: %w", err)
		}
		name = cfg.GGUF
	}
	f, err := gguf.Parse(data, name)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	return f, hex.EncodeToString(sum[:4]), nil
}

// load reads the weights through the hooks of tests and faults. It also returns
// what faults do to the clock.
func load(f *gguf.File, cfg Config) (*llama.Model, []sched.Pace, error) {
	hooks := llama.Hooks{}
	var paces []sched.Pace
	if cfg.Hooks != nil {
		hooks = *cfg.Hooks
	}
	for _, spec := range cfg.Faults {
		setting, err := fault.Parse(spec)
		if err != nil {
			return nil, nil, err
		}
		if setting.Fault.Kind == fault.Speed {
			paces = append(paces, setting.Pace())
		} else if err := setting.Install(&hooks, f); err != nil {
			return nil, nil, err
		}
	}
	model, err := llama.Load(f, &hooks)
	return model, paces, err
}

// chatTemplate is nil for a model that has none.
func chatTemplate(f *gguf.File, tok *token.Tokenizer) (*token.Template, error) {
	if _, ok, err := f.String("tokenizer.chat_template"); err != nil || !ok {
		return nil, err
	}
	return token.NewTemplate(f, tok)
}

// nameOf is the id of a model that was given none.
func nameOf(f *gguf.File) (string, error) {
	name, ok, err := f.String("general.name")
	if err != nil {
		return "", err
	}
	if !ok || name == "" {
		return filepath.Base(f.Name()), nil
	}
	return name, nil
}

// parameters counts the numbers of all tensors.
func parameters(f *gguf.File) int {
	total := 0
	for _, t := range f.Tensors() {
		total += t.Len()
	}
	return total
}

// startEngine sizes the cache and starts the engine. It also returns the
// context that the model was trained for.
func startEngine(m *llama.Model, tok *token.Tokenizer, cfg *Config, paces []sched.Pace) (*sched.Engine, int, error) {
	c := m.Config()
	if cfg.MaxModelLen == 0 {
		cfg.MaxModelLen = c.MaxContext
	}
	if cfg.MaxModelLen > c.MaxContext {
		return nil, 0, fmt.Errorf("max-model-len is %d, the model's context is %d tokens", cfg.MaxModelLen, c.MaxContext)
	}
	if c.Vocab != tok.VocabSize() {
		return nil, 0, fmt.Errorf("the model has logits for %d tokens, its vocabulary has %d", c.Vocab, tok.VocabSize())
	}
	opt := sched.Options{MaxNumSeqs: cfg.MaxNumSeqs, MaxNumBatchedTokens: cfg.MaxNumBatchedTokens, NumBlocks: cfg.NumBlocks,
		MaxModelLen: cfg.MaxModelLen, StepTime: cfg.StepTime, PrefillTime: cfg.PrefillTime,
		StepJitter: cfg.StepJitter, Seed: cfg.Seed, Paces: paces}
	if opt.NumBlocks == 0 {
		block := 4 * 2 * c.Layers * c.KVWidth() * llama.BlockSize // bytes
		opt.NumBlocks = max(sched.BlocksFor(cfg.MaxModelLen), DefaultCacheBytes/block)
	}
	for id := range c.Vocab {
		if tok.IsEOG(id) {
			opt.EOS = append(opt.EOS, id)
		}
	}
	opt, err := opt.WithDefaults()
	if err != nil {
		return nil, 0, err
	}
	engine, err := sched.New(&paged{m, llama.NewPool(m, opt.NumBlocks)}, opt)
	return engine, c.MaxContext, err
}

// paged is a model on its cache, as the engine wants it.
type paged struct {
	model *llama.Model
	pool  *llama.Pool
}

func (p *paged) Vocab() int { return p.model.Config().Vocab }

func (p *paged) Forward(rows []llama.Row, logits []float32) { p.model.Forward(rows, p.pool, logits) }

// ModelName is the id that the model is served under.
func (s *Server) ModelName() string { return s.name }

// Handler serves the API.
func (s *Server) Handler() http.Handler { return s.handler }

// Stats is the engine's state after its last step.
func (s *Server) Stats() sched.Stats { return s.engine.Stats() }

// Serve answers on a listener until ctx ends. Then it drains: it accepts
// nothing new, lets requests in flight finish for the time of grace, aborts what
// is left, and returns nil. The engine stays open for another Serve until Close.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	// Requests outlive ctx by the time of grace, then end with this one.
	base, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(base, s.grace)
	defer cancel()
	if srv.Shutdown(grace) != nil { // grace is over
		return srv.Close()
	}
	return nil
}

// Close stops the engine and aborts what still runs.
func (s *Server) Close() { s.engine.Close() }
