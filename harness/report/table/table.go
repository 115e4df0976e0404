// Package table draws tables for terminals and for Markdown. It is the only
// importer of tablewriter, whose defaults change headers, trim and split cells,
// and depend on the machine: every option that matters is set here, and each
// has a test.
package table

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Format is how a table is drawn.
type Format int

// The formats.
const (
	Text     Format = iota // box-drawing characters, for a terminal or a log
	Markdown               // GitHub-flavoured
)

// Align says where a column's cells stand. Numbers go right.
type Align int

// The alignments.
const (
	Left Align = iota
	Right
)

// Column is a column's header and alignment.
type Column struct {
	Title string
	Align Align
}

// Options are the choices of one table.
type Options struct {
	// MaxWidth is how many columns of a terminal a Text table may take; longer
	// cells are wrapped. 0 is no limit. A terminal too narrow for the number
	// of columns is overrun rather than made unreadable. Markdown ignores it:
	// a row must stay on its line.
	MaxWidth int
}

// Render writes a table. Cells are data: what a model wrote can neither steer
// the terminal nor add markup (see Visible). Every row must have one cell a
// column. The bytes are the same on every machine and for every locale.
func Render(w io.Writer, format Format, cols []Column, rows [][]string, opts Options) error {
	if len(cols) == 0 {
		return fmt.Errorf("a table needs at least one column")
	}
	for i, r := range rows {
		if len(r) != len(cols) {
			return fmt.Errorf("table row %d has %d cells, the table has %d columns: give every row one cell a column",
				i+1, len(r), len(cols))
		}
	}
	// Box-drawing and other ambiguous characters are one column wide, not two,
	// as tablewriter would have it under a Chinese or Japanese locale. This is
	// state of the process, which WithEastAsian would set only after fit has
	// measured the cells; nothing outside this package measures text with it.
	twwidth.SetEastAsian(false)

	header, body := cells(format, cols, rows)
	var draw tw.Renderer
	switch format {
	case Text:
		fit(header, body, opts.MaxWidth)
		draw = renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)})
	case Markdown:
		draw = renderer.NewMarkdown()
	default:
		return fmt.Errorf("no table format %d: use table.Text or table.Markdown", format)
	}

	// The renderers drop write errors, so they write to memory.
	var out bytes.Buffer
	t := tablewriter.NewTable(&out, options(draw, cols)...)
	t.Header(header)
	if err := t.Bulk(body); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// options sets what tablewriter would otherwise decide by itself.
func options(draw tw.Renderer, cols []Column) []tablewriter.Option {
	align := make(tw.Alignment, len(cols))
	for i, c := range cols {
		align[i] = tw.AlignLeft
		if c.Align == Right {
			align[i] = tw.AlignRight
		}
	}
	return []tablewriter.Option{
		tablewriter.WithRenderer(draw),
		tablewriter.WithHeaderAutoFormat(tw.Off), // "tok/s p50" would become "TOK / S P 50"
		tablewriter.WithRowAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), // cells are wrapped by fit
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{Global: tw.AlignLeft, PerColumn: align.Copy()}),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithTrimTab(tw.Off),
		tablewriter.WithTrimLine(tw.Off), // an empty line within a cell stays
		tablewriter.WithAutoHide(tw.Off), // so does an empty column
	}
}

// cells returns copies of header and rows as they may be printed. tablewriter
// keeps the slices that it is given.
func cells(format Format, cols []Column, rows [][]string) ([]string, [][]string) {
	clean := Visible
	if format == Markdown {
		clean = escapeMarkdown
	}
	header := make([]string, len(cols))
	for i, c := range cols {
		header[i] = clean(c.Title)
	}
	body := make([][]string, len(rows))
	for i, r := range rows {
		body[i] = make([]string, len(r))
		for j, s := range r {
			body[i][j] = clean(s)
		}
	}
	return header, body
}
