package scrape

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func read(t *testing.T, name string) Snapshot {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func want(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is missing, want %v", what, want)
	} else if math.Abs(*got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, *got, want)
	}
}

// A real vLLM 0.32.0 on the CPU, around three completions of 20 tokens each,
// which told prompts of 39 tokens.
func TestDeltaVLLM(t *testing.T) {
	s := Delta(read(t, "vllm-before"), read(t, "vllm-after"))
	if s.Engine != "vllm" || s.Restarted != "" || s.NotMeasured != "" {
		t.Fatalf("engine %q, restarted %q, not measured %q", s.Engine, s.Restarted, s.NotMeasured)
	}
	want(t, "prompt tokens", s.PromptTokens, 3*39)
	want(t, "output tokens", s.OutputTokens, 3*20)
	want(t, "queries", s.CacheQueries, 3*39)
	want(t, "cached share", s.CachedShare, 0)
	want(t, "TTFT", s.TTFT, 1000*0.18544721603393555/3)
	want(t, "TPOT", s.TPOT, 1000*0.030010943052634263/3)
	want(t, "ITL", s.ITL, 1000*0.570207918000051/57)
	want(t, "preemptions", s.Preemptions, 0)
	if s.Drafts != nil || s.AcceptanceLength != nil {
		t.Error("drafts without speculative decoding")
	}
}

// A real llama-server b1-0c1e570, around three completions of 20 tokens; the
// prompts had 17 tokens, of which 0, 16 and 16 were cached.
func TestDeltaLlamaCpp(t *testing.T) {
	s := Delta(read(t, "llamacpp-before"), read(t, "llamacpp-after"))
	want(t, "prompt tokens", s.PromptTokens, 3*17)
	want(t, "output tokens", s.OutputTokens, 3*20)
	want(t, "cached share", s.CachedShare, 32.0/51)
	want(t, "TPOT", s.TPOT, 1000*0.009624/60)
	want(t, "prefill of a token", s.Prefill, 1000*0.001843/19)
	if s.TTFT != nil || s.Preemptions != nil || s.AcceptanceRate != nil {
		t.Errorf("llama-server tells no TTFT, preemptions or drafts, yet %+v", s)
	}
}

// SGLang's names, with made-up numbers.
func TestDeltaSGLang(t *testing.T) {
	s := Delta(read(t, "sglang-before"), read(t, "sglang-after"))
	want(t, "prompt tokens", s.PromptTokens, 400)
	want(t, "output tokens", s.OutputTokens, 640)
	want(t, "hits of all sources", s.CacheHits, 100)
	want(t, "cached share", s.CachedShare, 0.25)
	want(t, "TTFT", s.TTFT, 100) // (1.1 − 0.1) ÷ (12 − 2)
	want(t, "ITL", s.ITL, 10)
	want(t, "preemptions", s.Preemptions, 3)
	want(t, "acceptance length", s.AcceptanceLength, 3) // the mean of two ranks
}

func parse(t *testing.T, lines ...string) Snapshot {
	t.Helper()
	s, err := Parse([]byte(strings.Join(lines, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeltaSpeculation(t *testing.T) {
	lines := []string{"# TYPE vllm:spec_decode_num_drafts_total counter", "vllm:spec_decode_num_drafts_total 50",
		"# TYPE vllm:spec_decode_num_draft_tokens_total counter", "vllm:spec_decode_num_draft_tokens_total 200",
		"# TYPE vllm:spec_decode_num_accepted_tokens_total counter", "vllm:spec_decode_num_accepted_tokens_total 120"}
	s := Delta(parse(t), parse(t, lines...))
	want(t, "acceptance rate", s.AcceptanceRate, 0.6)
	want(t, "acceptance length", s.AcceptanceLength, 1+120.0/50)
}

func TestDeltaRestart(t *testing.T) {
	counter := func(v string) []string {
		return []string{"# TYPE vllm:generation_tokens_total counter", `vllm:generation_tokens_total{engine="0"} ` + v}
	}
	started := func(v string) []string {
		return append(counter("900"), "# TYPE process_start_time_seconds gauge", "process_start_time_seconds "+v)
	}
	created := func(v string) []string {
		return append(counter("900"), "# TYPE vllm:generation_tokens_created gauge", "vllm:generation_tokens_created "+v)
	}
	for name, c := range map[string]struct {
		before, after []string
		word          string
	}{
		"a counter fell":    {counter("900"), counter("20"), "fell from 900 to 20"},
		"a counter is gone": {counter("900"), []string{"# TYPE vllm:num_preemptions_total counter", "vllm:num_preemptions_total 0"}, "is gone"},
		"another start":     {started("1000"), started("2000"), "process_start_time_seconds changed"},
		"created anew":      {created("1000"), created("2000"), "generation_tokens_created changed"},
	} {
		s := Delta(parse(t, c.before...), parse(t, c.after...))
		if !strings.Contains(s.Restarted, c.word) || s.OutputTokens != nil || s.NotMeasured == "" {
			t.Errorf("%s: restarted %q, %v tokens", name, s.Restarted, s.OutputTokens)
		}
	}
	for name, c := range map[string][2][]string{
		"nothing happened": {counter("900"), counter("900")},
		"it grew":          {counter("900"), counter("901")},
		"same start":       {started("1000"), started("1000")},
		"a gauge fell":     {[]string{"# TYPE vllm:num_requests_running gauge", "vllm:num_requests_running 5"}, []string{"# TYPE vllm:num_requests_running gauge", "vllm:num_requests_running 0"}},
	} {
		if s := Delta(parse(t, c[0]...), parse(t, c[1]...)); s.Restarted != "" {
			t.Errorf("%s, and that is taken for a restart: %s", name, s.Restarted)
		}
	}
}

func TestDeltaUnknownServer(t *testing.T) {
	s := Delta(parse(t), parse(t, "# TYPE tgi_request_count counter", "tgi_request_count 4"))
	if s.NotMeasured == "" || s.OutputTokens != nil {
		t.Errorf("an unknown server: %+v", s)
	}
}

func TestServerJSON(t *testing.T) {
	s := Delta(read(t, "vllm-before"), read(t, "vllm-after"))
	a, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Server
	if err := json.Unmarshal(a, &back); err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(back); string(a) != string(b) {
		t.Errorf("read back:\n%s\n%s", a, b)
	}
}

type fake struct {
	status int
	body   string
	err    error
}

func (f fake) Get(_ context.Context, path string) (int, string, []byte, error) {
	if path != "/metrics" {
		return 404, "", nil, nil
	}
	return f.status, "text/plain", []byte(f.body), f.err
}

func TestGet(t *testing.T) {
	s, err := Get(t.Context(), fake{200, "# TYPE llamacpp:n_decode_total counter\nllamacpp:n_decode_total 7\n", nil})
	if err != nil || s.Engine != "llama.cpp" || s.Counters["llamacpp:n_decode_total"] != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		from fake
		word string
	}{
		"none":         {fake{404, "", nil}, "--metrics"},
		"switched off": {fake{501, "", nil}, "--metrics"},
		"broken":       {fake{500, "", nil}, "HTTP 500"},
		"no metrics":   {fake{200, "<html>", nil}, "not in the Prometheus text format"},
		"no answer":    {fake{0, "", errors.New("connection refused")}, "connection refused"},
	} {
		_, err := Get(t.Context(), c.from)
		if err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v, want %q", name, err, c.word)
			continue
		}
		if m := Missing(err); m.NotMeasured != err.Error() {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
