package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"lockbench/results"
)

// maxDoubts is how many of a host's doubts stand above a table; `lockbench env`
// has all of them, with remedies.
const maxDoubts = 5

// maxColumns is the width that a table keeps to by wrapping its marks, if its
// other columns leave them minMarks.
const (
	maxColumns = 150
	minMarks   = 20
)

// Table writes a report for a terminal of 150 columns.
func Table(w io.Writer, rep *results.Report) error { return table(w, rep, false) }

// TableDetail is Table with a line for each cell of chaos.
func TableDetail(w io.Writer, rep *results.Report) error { return table(w, rep, true) }

func table(w io.Writer, rep *results.Report, detail bool) error {
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
		if err := tableRun(&b, r, detail); err != nil {
			return err
		}
	}
	if hasCells(rep) {
		writeEntries(&b, "Columns", glossary(rep))
		writeEntries(&b, "Marks (k/n: in k of n repetitions)", legend(rep))
		writeEntries(&b, "Locks", lockNotes(rep))
		b.WriteString("\n")
		for _, r := range rep.Runs {
			text := ofRun(rep, r) + closing(r) + "."
			fmt.Fprintln(&b, fill(strings.SplitAfter(text, "; "), maxColumns))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func tableRun(b *bytes.Buffer, r *results.RunReport, detail bool) error {
	if host := r.Host.String(); host != "" {
		fmt.Fprintf(b, "host: %s\n", host)
	}
	if labels := labelsOf(r); labels != "" {
		fmt.Fprintf(b, "labels: %s\n", labels)
	}
	for _, d := range doubts(r) {
		fmt.Fprintf(b, "doubt: %s\n", d)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(b, "warning: %s\n", warning)
	}
	var said []string
	for _, s := range r.Sections {
		fmt.Fprintf(b, "\n%s\n", title(s))
		var lines []string
		lines, said = serverLines(s, said)
		for _, l := range lines {
			fmt.Fprintln(b, indented(l))
		}
		if err := grid(b, sectionSheet(s), plainGrid()); err != nil {
			return err
		}
		for _, a := range alarms(s) {
			fmt.Fprintf(b, "!!! %s\n", a)
		}
		for _, n := range notes(s) {
			fmt.Fprintln(b, indented("note: "+n))
		}
		for i, g := range phaseGrids(s) {
			if i == 0 {
				fmt.Fprintf(b, "%s:\n", phasesTitle)
			}
			if err := grid(b, g, plainGrid()); err != nil {
				return err
			}
		}
	}
	if r.Chaos != nil {
		if len(r.Sections) > 0 {
			b.WriteString("\n")
		}
		return chaosTable(b, r.Chaos, detail)
	}
	return nil
}

// indented breaks a line that is too long; what follows is set in.
func indented(line string) string {
	text := fill(strings.SplitAfter(line, " "), maxColumns-2)
	return strings.ReplaceAll(text, "\n", "\n  ")
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
	return "run " + r.Run.RunID + ": " + strings.Join(r.Files, ", ")
}

// ofRun says which of several runs a line is about.
func ofRun(rep *results.Report, r *results.RunReport) string {
	if len(rep.Runs) < 2 {
		return ""
	}
	return "run " + r.Run.RunID + ": "
}

// labelsOf are the run's labels, "" without any.
func labelsOf(r *results.RunReport) string { return labelText(r.Run.Labels, ", ") }

func labelText(labels map[string]string, sep string) string {
	var parts []string
	for k, v := range sorted(labels) {
		parts = append(parts, k+"="+v)
	}
	return strings.Join(parts, sep)
}

func hasCells(rep *results.Report) bool {
	for _, r := range rep.Runs {
		if len(r.Sections) > 0 {
			return true
		}
	}
	return false
}

// maxWord is the longest word that has its text beside it: those of some locks are lists.
const maxWord = 32

func writeEntries(b *bytes.Buffer, head string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", head)
	for _, e := range entries {
		const indent = 20
		text := fill(strings.SplitAfter(e.text, " "), maxColumns-indent)
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent))
		if utf8.RuneCountInString(e.word) > maxWord {
			text = "\n" + strings.Repeat(" ", indent) + text
		}
		fmt.Fprintf(b, "  %-16s  %s\n", e.word, text)
	}
}

// A sheet is a table before it is drawn.
type sheet struct {
	name  string // for errors
	cols  []column
	rows  [][]string
	marks bool // the last column has marks
	// under: where text is plain, marks stand below the figures of their row, because
	// these take the whole width.
	under bool
}

func sectionSheet(s *results.Section) sheet {
	g := sheet{name: s.Workload, cols: columns(s), marks: true, under: s.Distributed()}
	for _, c := range cells(s) {
		g.rows = append(g.rows, row(g.cols, c))
	}
	return g
}

// A gridStyle is what differs between a terminal and markdown.
type gridStyle struct {
	opts  []tablewriter.Option
	head  func(string) string
	text  func(string) string
	plain bool // wrap marks; no white space at the end of lines
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
		head:  func(s string) string { return s },
		text:  func(s string) string { return s },
		plain: true,
	}
}

// grid draws a sheet.
func grid(w io.Writer, g sheet, style gridStyle) error {
	if g.under && style.plain {
		return gridUnder(w, g, style)
	}
	var heads []string
	var aligns []tw.Align
	for _, c := range g.cols {
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
		tablewriter.WithEastAsian(tw.Off), // "µ" is one column wide, whatever LANG says
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: aligns}),
	)
	t := tablewriter.NewTable(&b, opts...)
	t.Header(heads)
	room := marksRoom(g)
	for _, cells := range g.rows {
		cells = slices.Clone(cells)
		for i := range cells {
			if style.plain && g.marks && i == len(cells)-1 {
				cells[i] = wrap(cells[i], room)
			}
			cells[i] = style.text(cells[i])
		}
		if err := t.Append(cells); err != nil {
			return fmt.Errorf("table row of %s: %w", cells[0], err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("table of %s: %w", g.name, err)
	}
	head := 0 // columns of the head, which is above the rule
	for line := range strings.Lines(b.String()) {
		if style.plain {
			line = strings.TrimRight(line, " \n")
			if strings.Trim(line, "-") == "" {
				line = line[:min(head, len(line))]
			}
			head = max(head, utf8.RuneCountInString(line))
			line += "\n"
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// gridUnder draws a sheet without its last column, whose texts stand below their rows.
func gridUnder(w io.Writer, g sheet, style gridStyle) error {
	last := len(g.cols) - 1
	bare := sheet{name: g.name, cols: g.cols[:last]}
	for _, r := range g.rows {
		bare.rows = append(bare.rows, r[:last])
	}
	var b bytes.Buffer
	if err := grid(&b, bare, style); err != nil {
		return err
	}
	lines := slices.Collect(strings.Lines(b.String()))
	head := len(lines) - len(g.rows) // each row is one line
	for i, line := range lines {
		if i >= head {
			if marks := g.rows[i-head][last]; marks != "" {
				text := fill(strings.SplitAfter(marks, " "), maxColumns-4)
				line += "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
			}
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// marksRoom is what the other columns leave to the marks.
func marksRoom(g sheet) int {
	room := maxColumns
	for i, c := range g.cols[:len(g.cols)-1] {
		width := 0
		for line := range strings.SplitSeq(c.head, "\n") {
			width = max(width, utf8.RuneCountInString(line))
		}
		for _, r := range g.rows {
			width = max(width, utf8.RuneCountInString(r[i]))
		}
		room -= width + 2
	}
	return max(room, minMarks)
}

// wrap breaks marks into lines of at most width runes, after a comma if it can,
// else between words.
func wrap(s string, width int) string {
	var pieces []string
	for part := range strings.SplitAfterSeq(s, ", ") {
		if utf8.RuneCountInString(part) <= width {
			pieces = append(pieces, part)
		} else {
			pieces = append(pieces, strings.SplitAfter(part, " ")...)
		}
	}
	return fill(pieces, width)
}

// fill joins pieces to lines of at most width runes, if none is longer.
func fill(pieces []string, width int) string {
	var lines []string
	cur := ""
	for _, p := range pieces {
		if cur != "" && utf8.RuneCountInString(cur+strings.TrimRight(p, " ")) > width {
			lines, cur = append(lines, strings.TrimRight(cur, " ")), ""
		}
		cur += p
	}
	return strings.Join(append(lines, cur), "\n")
}
