package exchange

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a shell makes of the command is what was to be sent.
func TestCurl(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell here to read the command")
	}
	r := Request{ID: "a/1", API: Chat, Stream: true, Messages: []Message{{Role: "user", Content: "it's $HOME `x` \\n \"q\"\n!! <é>"}}, Params: map[string]any{"temperature": 0}}
	for _, target := range []string{"http://h:1", "http://h:1/v1"} {
		command := Curl(r, "my model")
		if strings.Contains(command, "sk-secret") {
			t.Error("the key stands in the command")
		}
		script := `curl() { for a in "$@"; do printf '%s\0' "$a"; done; }; ` + command
		cmd := exec.CommandContext(t.Context(), sh, "-c", script)
		cmd.Env = []string{"TOUCHSTONE_TARGET=" + target, "OPENAI_API_KEY=sk-secret"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		body := args[len(args)-1]
		want := []string{"-sSN", "http://h:1/v1/chat/completions", "-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-secret", "-d", body}
		if d := cmp.Diff(want, args); d != "" {
			t.Error(d)
		}
		expected, err := json.Marshal(r.Body("my model"))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(expected, &a) != nil || json.Unmarshal([]byte(body), &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("body %s, want %s", body, expected)
		}
	}
}

func TestCurlOfExchange(t *testing.T) {
	e := &Exchange{Request: Request{ID: "a", API: Tokenize, Prompt: "x"}, Sent: []byte(`{"as":"sent"}`)}
	if got := e.Curl("m"); !strings.HasSuffix(got, ` -d '{"as":"sent"}'`) || !strings.Contains(got, "/tokenize") {
		t.Error(got)
	}
	e.Sent = nil
	if got := e.Curl("m"); !strings.HasSuffix(got, ` -d '{"model":"m","prompt":"x"}'`) {
		t.Error(got)
	}
	if got := Curl(Request{ID: "a", Params: map[string]any{"x": func() {}}}, "m"); !strings.HasPrefix(got, "# a can't") {
		t.Error(got)
	}
}
