package main

import (
	"fmt"

	"touchstone/harness/client"
	"touchstone/harness/engine"
	"touchstone/harness/exchange"
	"touchstone/harness/report/table"
	"touchstone/harness/verdict"
)

type doctorCmd struct {
	targetFlags
}

// Run tells what a server is, what can be checked on it, and what is off.
func (c *doctorCmd) Run(a *app) error {
	url, stop, err := c.start(a)
	if err != nil {
		return err
	}
	defer stop()
	opts, err := c.clientOptions(a, url)
	if err != nil {
		return err
	}
	cl, err := client.New(opts)
	if err != nil {
		return usage("", "%w", err)
	}
	t, err := engine.Find(a.ctx, cl, c.Model, c.waiting(a))
	if err != nil {
		return err
	}
	r := engine.Examine(a.ctx, cl, t)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err := writeDoctor(a, r); err != nil {
		return err
	}
	for _, ab := range r.Abilities {
		if ab.Capability == exchange.CapChat && ab.State == exchange.Unknown {
			return &failure{verdict.ExitRegression, fmt.Errorf("the server answers and does not generate"), "look at its log"}
		}
	}
	return nil
}

func writeDoctor(a *app, r engine.Report) error {
	for _, row := range []struct{ name, value string }{
		{"engine", r.Target.Engine + " " + r.Target.Version},
		{"fingerprint", r.Target.Fingerprint},
		{"model", r.Target.Model},
		{"context", tokens(r.Target.MaxModelLen)},
		{"vocabulary", tokens(r.Target.VocabSize)},
		{"template", r.Template},
		{"tokenizer", r.Tokenizer},
		{"log-probs", r.Logprobs},
	} {
		value := row.value
		if value == "" {
			value = "not told"
		}
		fmt.Fprintf(a.stdout, "%-12s %s\n", row.name, value)
	}
	cols := []table.Column{{Title: "capability"}, {Title: "state"}, {Title: "seen"}, {Title: "not checked without it"}}
	var rows [][]string
	for _, ab := range r.Abilities {
		state, missing := string(ab.State), ab.Without
		if ab.State == exchange.Unknown {
			state = "unknown"
		}
		if ab.State == exchange.Present {
			missing = ""
		}
		rows = append(rows, []string{string(ab.Capability), state, ab.Detail, missing})
	}
	fmt.Fprintln(a.stdout)
	if err := table.Render(a.stdout, table.Text, cols, rows, table.Options{MaxWidth: min(terminalWidth(a), 100)}); err != nil {
		return err
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(a.stdout, "warning: %s\n", w)
	}
	return nil
}

func tokens(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens", n)
}
