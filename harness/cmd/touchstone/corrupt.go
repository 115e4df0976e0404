package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"touchstone/harness/refserver/corrupt"
	"touchstone/harness/report/table"
)

type corruptCmd struct {
	In  string `arg:"" optional:"" name:"in.gguf" help:"The model file."`
	Out string `arg:"" optional:"" name:"out.gguf" help:"The copy to write."`

	Fault  string `help:"The defect to put in, e.g. qkv-swap or attention-output-zero:layers=0-1." placeholder:"NAME" sep:"none"`
	Force  bool   `help:"Replace OUT if it exists."`
	List   bool   `help:"List the defects."`
	Format string `help:"text or json, of the list and of what is said about the copy." enum:"text,json" default:"text"`
}

// Run writes the corrupted copy, or lists the defects.
func (c *corruptCmd) Run(a *app) error {
	const hint = "touchstone corrupt --list names the defects and their settings"
	switch {
	case c.List && (c.In != "" || c.Fault != ""):
		return usage("leave out --list, or everything else", "--list writes no copy")
	case c.List:
		return c.list(a)
	case c.Fault == "":
		return usage(hint, "no --fault: what shall be wrong with the copy?")
	case c.Out == "":
		return usage("touchstone corrupt --fault NAME IN.gguf OUT.gguf", "two files are needed, the model and the copy to write")
	}
	setting, err := corrupt.Parse(c.Fault)
	if err != nil {
		return usage(hint, "%w", err)
	}
	r, err := setting.File(a.ctx, c.In, c.Out, c.Force)
	if a.ctx.Err() != nil && err != nil {
		return err // interrupted
	}
	if err != nil {
		return usage("nothing was written; "+hint, "%w", err)
	}
	if c.Format == "json" {
		return printJSON(a, r)
	}
	what := fmt.Sprintf("%d of %d tensors changed", len(r.Changed), r.Tensors)
	if r.Header {
		what += ", metadata changed"
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s with %s; %s\n", c.Out, c.In, r.Fault, what)
	return err
}

func (c *corruptCmd) list(a *app) error {
	if c.Format == "json" {
		return printJSON(a, corrupt.All())
	}
	cols := []table.Column{{Title: "fault"}, {Title: "what is wrong"}, {Title: "settings"}, {Title: "reports"}}
	var rows [][]string
	for _, f := range corrupt.All() {
		var settings []string
		for _, p := range f.Params {
			settings = append(settings, p.Name+"="+p.Default)
		}
		rows = append(rows, []string{f.Name, f.Summary, strings.Join(settings, "\n"), strings.Join(f.Reports, "\n")})
	}
	return table.Render(a.stdout, table.Text, cols, rows, table.Options{MaxWidth: terminalWidth(a)})
}

func printJSON(a *app, v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
