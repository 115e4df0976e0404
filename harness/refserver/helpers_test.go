package refserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

const tinyModel = "../../fixtures/models/tiny/touchstone-tiny-f32.gguf"

// start serves a model on a test's own listener.
func start(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.GGUF == "" && cfg.Data == nil {
		cfg.GGUF = tinyModel
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { h.Close(); s.Close() })
	return s, h.URL
}

// object is a request.
type object = map[string]any

// post sends a request and returns the status and the body.
func post(t testing.TB, url string, body any) (int, []byte) {
	t.Helper()
	status, data, err := send(url, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, data
}

func send(url string, body any) (int, []byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	res, err := http.Post(url, "application/json", bytes.NewReader(b))
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, data, err
}

// truthPrompt is a prompt of ../llama/testdata/expected.json: log-probabilities
// by Hugging Face transformers in float32.
type truthPrompt struct {
	Kind      string          `json:"kind"`
	Source    json.RawMessage `json:"source"` // a text, or messages
	IDs       []int           `json:"ids"`
	Positions []struct {
		Next *float64     `json:"next"` // of the prompt's next token
		Top  [][2]float64 `json:"top"`  // id, log-probability
	} `json:"positions"`
	Greedy [][3]float64 `json:"greedy"` // id, log-probability, margin
	Text   string       `json:"greedy_text"`
}

func readTruth(t testing.TB) []truthPrompt {
	t.Helper()
	data, err := os.ReadFile("llama/testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Prompts []truthPrompt }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Prompts) != 13 {
		t.Fatalf("%d prompts in expected.json, want 13", len(all.Prompts))
	}
	return all.Prompts
}

// answer holds the fields of a reply, of either dialect, that tests look at.
type answer struct {
	Choices []struct {
		Index        int
		Text         string
		Message      struct{ Content string }
		TokenIDs     []int          `json:"token_ids"`
		PromptIDs    []int          `json:"prompt_token_ids"`
		Prompt       []promptEntry  `json:"prompt_logprobs"`
		FinishReason string         `json:"finish_reason"`
		StopReason   *string        `json:"stop_reason"`
		Logprobs     *replyLogprobs `json:"logprobs"`
	}
	PromptIDs []int         `json:"prompt_token_ids"`
	Prompt    []promptEntry `json:"prompt_logprobs"`
	Usage     struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached *int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

type promptEntry map[int]struct {
	Logprob float64
	Rank    int
	Decoded string `json:"decoded_token"`
}

type replyLogprobs struct {
	Tokens  []string             `json:"tokens"`
	Values  []float64            `json:"token_logprobs"`
	Top     []map[string]float64 `json:"top_logprobs"`
	Content []struct {
		Token   string
		Logprob float64
		Top     []struct {
			Token   string
			Logprob float64
		} `json:"top_logprobs"`
	}
}
