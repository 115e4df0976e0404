package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"touchstone/harness/exchange"
)

// replay is a transport that hands out one canned event a read, so that what
// is measured is the client alone and neither a socket nor a server.
type replay struct{ events []string }

func (r replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: &eventBody{left: r.events}, Request: req}, nil
}

type eventBody struct{ left []string }

func (b *eventBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left[0])
	b.left = b.left[1:]
	return n, nil
}

func (b *eventBody) Close() error { return nil }

const benchTokens = 128

func benchEvents() []string {
	var out []string
	for i := range benchTokens {
		fin := "null"
		if i == benchTokens-1 {
			fin = `"length"`
		}
		out = append(out, fmt.Sprintf("data: {\"id\":\"cmpl-1234567890abcdef\",\"object\":\"text_completion\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"text\":\" tok%d\",\"logprobs\":null,\"finish_reason\":%s,\"stop_reason\":null}],\"usage\":null}\n\n", i, fin))
	}
	return append(out, "data: [DONE]\n\n")
}

// BenchmarkStream compares what this client adds to a token's cost with the
// least that go-openai can do (RecvRaw) and with what most programs do (Recv).
func BenchmarkStream(b *testing.B) {
	events := benchEvents()
	cfg := openai.DefaultConfig("")
	cfg.HTTPClient = &http.Client{Transport: replay{events}}
	bare := openai.NewClientWithConfig(cfg)
	c, err := New(Options{BaseURL: "http://h", Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	c.http.Transport = replay{events}
	per := func(b *testing.B, f func() error) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/benchTokens, "µs/token")
	}
	library := func(recv func(*openai.CompletionStream) error) func() error {
		return func() error {
			s, err := bare.CreateCompletionStream(context.Background(), openai.CompletionRequest{Model: "m", Prompt: "x"})
			for err == nil {
				err = recv(s)
			}
			if !errors.Is(err, io.EOF) {
				return err
			}
			return s.Close()
		}
	}
	b.Run("RecvRaw", func(b *testing.B) {
		per(b, library(func(s *openai.CompletionStream) error { _, err := s.RecvRaw(); return err }))
	})
	b.Run("Recv", func(b *testing.B) {
		per(b, library(func(s *openai.CompletionStream) error { _, err := s.Recv(); return err }))
	})
	r := request(exchange.Completions, true, nil)
	b.Run("Do", func(b *testing.B) {
		per(b, func() error {
			if x := c.Do(context.Background(), r); x.Failure != nil {
				return x.Failure
			}
			return nil
		})
	})
}

// The benchmark's client must really get the whole stream.
func TestBenchmarkIsHonest(t *testing.T) {
	c, err := New(Options{BaseURL: "http://h", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	events := benchEvents()
	c.http.Transport = replay{events}
	x := c.Do(t.Context(), request(exchange.Completions, true, nil))
	if !bytes.Equal(x.Raw, []byte(strings.Join(events, ""))) || len(x.Timeline.Reads) != len(events) {
		t.Errorf("%d bytes in %d reads", len(x.Raw), len(x.Timeline.Reads))
	}
	if r := decode(t, x); len(r.Chunks) != benchTokens {
		t.Errorf("%d chunks, want %d", len(r.Chunks), benchTokens)
	}
}
