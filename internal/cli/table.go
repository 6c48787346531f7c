package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// plainTable writes a table without lines, left aligned, as lists are printed.
func plainTable(w io.Writer, header []string, rows [][]string) error {
	left := tw.CellConfig{
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: "  ", Overwrite: true}},
	}
	var b bytes.Buffer
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithConfig(tablewriter.Config{Header: left, Row: left, Behavior: tw.Behavior{TrimSpace: tw.On}}))
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("print a table: %w", err)
	}
	for line := range bytes.Lines(b.Bytes()) {
		if _, err := fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n")); err != nil {
			return fmt.Errorf("print a table: %w", err)
		}
	}
	return nil
}
