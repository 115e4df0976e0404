// Package api speaks vLLM's dialect of the OpenAI API over an engine: the same
// fields, response shapes and errors, so that a client that measures vLLM
// measures this without knowing. A field that is not implemented is refused.
package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"touchstone/harness/refserver/sched"
	"touchstone/harness/refserver/token"
)

// Config is what the API serves.
type Config struct {
	Engine      *sched.Engine
	Tokenizer   *token.Tokenizer
	Template    *token.Template // nil: the model cannot chat
	ModelName   string
	MaxModelLen int    // tokens
	TrainedLen  int    // the context that the model was trained for, tokens
	Parameters  int    // of the model
	Version     string // of the server
	Fingerprint string // system_fingerprint
}

// Server answers the API's requests.
type Server struct {
	cfg     Config
	metrics *metrics
	created int64
}

// New returns the API's handler.
func New(cfg Config) http.Handler {
	s := &Server{cfg: cfg, metrics: newMetrics(cfg.Engine, cfg.ModelName), created: time.Now().Unix()}
	mux := http.NewServeMux()
	route := func(method, path string, h http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, h)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			writeError(w, &apiError{Message: fmt.Sprintf("Method Not Allowed: %s takes %s, not %s", path, method, r.Method),
				Type: "BadRequestError", Code: http.StatusMethodNotAllowed})
		})
	}
	route("POST", "/v1/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false) })
	route("POST", "/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, true) })
	route("GET", "/v1/models", s.models)
	route("GET", "/health", s.health)
	route("GET", "/version", s.version)
	route("POST", "/tokenize", s.tokenize)
	route("POST", "/detokenize", s.detokenize)
	route("GET", "/metrics", s.metrics.handler.ServeHTTP)
	route("POST", "/reset_prefix_cache", s.resetPrefixCache)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{Message: fmt.Sprintf("Not Found: %s", r.URL.Path), Type: "NotFoundError", Code: http.StatusNotFound})
	})
	return mux
}

// models lists the one model. meta is llama-server's, so that a client learns
// the sizes of the vocabulary and the model.
func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"object": "list", "data": []any{map[string]any{
		"id": s.cfg.ModelName, "object": "model", "created": s.created, "owned_by": "touchstone",
		"root": s.cfg.ModelName, "parent": nil, "max_model_len": s.cfg.MaxModelLen,
		"meta": map[string]int{"n_vocab": s.cfg.Tokenizer.VocabSize(), "n_ctx_train": s.cfg.TrainedLen, "n_params": s.cfg.Parameters},
	}}})
}

// health is an empty 200 while the engine lives.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.cfg.Engine.Err() != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]string{"version": s.cfg.Version})
}

// tokenize counts a text or the messages of a chat.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	f, bad := readFields(w, r)
	if bad != nil {
		writeError(w, bad)
		return
	}
	s.checkModel(f)
	strs := field(f, "return_token_strs", false)
	var ids []int
	if f.raw["messages"] != nil {
		ids = s.chatPrompt(f)
		f.neutral("continue_final_message", false)
		f.neutral("chat_template_kwargs", map[string]any{})
		f.neutral("tools", []any{})
	} else {
		addSpecial := field(f, "add_special_tokens", true)
		if text := optional[string](f, "prompt"); text != nil {
			ids = s.cfg.Tokenizer.Encode(*text, addSpecial, true)
		} else {
			f.fail(badField("prompt", "is missing"))
		}
	}
	if err := f.done(); err != nil {
		writeError(w, err)
		return
	}
	var names []string
	if strs {
		for _, id := range ids {
			names = append(names, s.cfg.Tokenizer.Token(id))
		}
	}
	if ids == nil {
		ids = []int{}
	}
	writeJSON(w, map[string]any{"count": len(ids), "max_model_len": s.cfg.MaxModelLen, "tokens": ids, "token_strs": names})
}

// detokenize writes token ids as text, special tokens by their names.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	f, bad := readFields(w, r)
	if bad != nil {
		writeError(w, bad)
		return
	}
	s.checkModel(f)
	ids := optional[[]int](f, "tokens")
	if ids == nil {
		f.fail(badField("tokens", "is missing"))
	}
	if err := f.done(); err != nil {
		writeError(w, err)
		return
	}
	for i, id := range *ids {
		if n := s.cfg.Tokenizer.VocabSize(); id < 0 || id >= n {
			writeError(w, badField("tokens", "has token id %d at position %d, outside the vocabulary of %d", id, i, n))
			return
		}
	}
	writeJSON(w, map[string]string{"prompt": s.cfg.Tokenizer.DecodeAll(*ids)})
}

// resetPrefixCache answers like vLLM in development mode; success is false, and
// nothing was reset, while a request runs.
func (s *Server) resetPrefixCache(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, map[string]bool{"success": s.cfg.Engine.ResetPrefixCache()})
}

// newID is a request id: 32 hexadecimal digits, as vLLM's.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
