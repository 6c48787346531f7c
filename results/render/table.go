package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"lockbench/results"
)

// maxDoubts is how many of a host's doubts stand above a table; `lockbench env`
// has all of them, with remedies.
const maxDoubts = 5

// Table writes a report for a terminal of 140 columns.
func Table(w io.Writer, rep *results.Report) error {
	var b bytes.Buffer
	for _, warning := range rep.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for i, r := range rep.Runs {
		if i > 0 || len(rep.Warnings) > 0 {
			b.WriteString("\n")
		}
		if len(rep.Runs) > 1 {
			fmt.Fprintf(&b, "== %s ==\n", runName(r))
		}
		if err := tableRun(&b, r); err != nil {
			return err
		}
	}
	if hasCells(rep) {
		writeEntries(&b, "Columns", glossary)
		writeEntries(&b, "Marks (k/n: in k of n repetitions)", legend(rep))
		b.WriteString("\n")
		for _, r := range rep.Runs {
			fmt.Fprintf(&b, "%s.\n", closing(r))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func tableRun(b *bytes.Buffer, r *results.RunReport) error {
	if host := r.Host.String(); host != "" {
		fmt.Fprintf(b, "host: %s\n", host)
	}
	for _, d := range doubts(r) {
		fmt.Fprintf(b, "doubt: %s\n", d)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(b, "warning: %s\n", warning)
	}
	for _, s := range r.Sections {
		fmt.Fprintf(b, "\n%s\n", title(s))
		if err := grid(b, s, plainGrid()); err != nil {
			return err
		}
		for _, a := range alarms(s) {
			fmt.Fprintf(b, "!!! %s\n", a)
		}
	}
	return nil
}

// doubts are the first few of the host's, and the number of the others.
func doubts(r *results.RunReport) []string {
	all := r.Run.Doubts
	var out []string
	for _, d := range all[:min(len(all), maxDoubts)] {
		out = append(out, cut(d, maxDoubt))
	}
	if more := len(all) - maxDoubts; more > 0 {
		out = append(out, fmt.Sprintf("and %d more: see `lockbench env`", more))
	}
	return out
}

func runName(r *results.RunReport) string {
	name := "run " + r.Run.RunID
	for k, v := range sorted(r.Run.Labels) {
		name += fmt.Sprintf(" %s=%s", k, v)
	}
	return name + ": " + strings.Join(r.Files, ", ")
}

func hasCells(rep *results.Report) bool {
	for _, r := range rep.Runs {
		if len(r.Sections) > 0 {
			return true
		}
	}
	return false
}

func writeEntries(b *bytes.Buffer, head string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", head)
	for _, e := range entries {
		fmt.Fprintf(b, "  %-16s  %s\n", e.word, e.text)
	}
}

// A gridStyle is what differs between a terminal and markdown.
type gridStyle struct {
	opts     []tablewriter.Option
	head     func(string) string
	text     func(string) string
	trimLine bool
}

func plainGrid() gridStyle {
	none := tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleASCII),
		Settings: tw.Settings{
			Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
			Lines:      tw.Lines{ShowTop: tw.Off, ShowBottom: tw.Off, ShowHeaderLine: tw.On},
		},
	}
	return gridStyle{
		opts: []tablewriter.Option{
			tablewriter.WithRenderer(renderer.NewBlueprint(none)),
			tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}),
		},
		head:     func(s string) string { return s },
		text:     func(s string) string { return s },
		trimLine: true,
	}
}

// grid writes the cells of a section.
func grid(w io.Writer, s *results.Section, style gridStyle) error {
	var heads []string
	var aligns []tw.Align
	for _, c := range columns() {
		heads = append(heads, style.head(c.head))
		align := tw.AlignRight
		if c.left {
			align = tw.AlignLeft
		}
		aligns = append(aligns, align)
	}
	var b bytes.Buffer
	opts := append(style.opts,
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimLine(tw.Off),  // keeps the empty first line of a one-line head
		tablewriter.WithEastAsian(tw.Off), // "±" and "µ" are one column wide, whatever LANG says
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
	)
	t := tablewriter.NewTable(&b, opts...)
	t.Header(heads)
	for _, c := range s.Cells {
		cells := row(c)
		for i := range cells {
			cells[i] = style.text(cells[i])
		}
		if err := t.Append(cells); err != nil {
			return fmt.Errorf("table row of %s: %w", c.Lock, err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("table of %s: %w", s.Workload, err)
	}
	for line := range strings.Lines(b.String()) {
		if style.trimLine {
			line = strings.TrimRight(line, " \n") + "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}
