package render

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"

	"lockbench/results"
)

// Markdown writes what Table writes, as GitHub tables.
func Markdown(w io.Writer, rep *results.Report) error {
	var b bytes.Buffer
	for _, warning := range rep.Warnings {
		fmt.Fprintf(&b, "- **warning:** %s\n", escape(warning))
	}
	for _, r := range rep.Runs {
		if len(rep.Runs) > 1 {
			fmt.Fprintf(&b, "\n## %s\n\n", escape(runName(r)))
		}
		if host := r.Host.String(); host != "" {
			fmt.Fprintf(&b, "- host: %s\n", escape(host))
		}
		if labels := labelsOf(r); labels != "" {
			fmt.Fprintf(&b, "- labels: %s\n", escape(labels))
		}
		for _, d := range doubts(r) {
			fmt.Fprintf(&b, "- doubt: %s\n", escape(d))
		}
		for _, warning := range r.Warnings {
			fmt.Fprintf(&b, "- **warning:** %s\n", escape(warning))
		}
		var said []string
		for _, s := range r.Sections {
			fmt.Fprintf(&b, "\n### %s\n\n", escape(title(s)))
			var lines []string
			if lines, said = serverLines(s, said); len(lines) > 0 {
				for _, l := range lines {
					fmt.Fprintf(&b, "- %s\n", escape(l))
				}
				b.WriteString("\n")
			}
			if err := grid(&b, sectionSheet(s), markdownGrid()); err != nil {
				return err
			}
			loud, quiet := alarms(s), notes(s)
			if len(loud)+len(quiet) > 0 {
				b.WriteString("\n")
			}
			for _, a := range loud {
				fmt.Fprintf(&b, "- **%s**\n", escape(a))
			}
			for _, n := range quiet {
				fmt.Fprintf(&b, "- %s\n", escape(n))
			}
			for _, g := range phaseGrids(s) {
				fmt.Fprintf(&b, "\n%s:\n\n", phasesTitle)
				if err := grid(&b, g, markdownGrid()); err != nil {
					return err
				}
			}
		}
		if r.Chaos != nil {
			if err := chaosMarkdown(&b, r.Chaos); err != nil {
				return err
			}
		}
	}
	if hasCells(rep) {
		markdownEntries(&b, "Columns", glossary(rep))
		markdownEntries(&b, "Marks (k/n: in k of n repetitions)", legend(rep))
		markdownEntries(&b, "Locks", lockNotes(rep))
		for _, r := range rep.Runs {
			fmt.Fprintf(&b, "\n%s.\n", escape(ofRun(rep, r)+closing(r)))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownEntries(b *bytes.Buffer, head string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n", head)
	for _, e := range entries {
		fmt.Fprintf(b, "- %s: %s\n", escape(e.word), escape(e.text))
	}
}

// escape takes from text what markdown and HTML would obey. A backslash serves
// before ASCII punctuation anywhere, a pipe inside a table included.
func escape(s string) string {
	return escaper.Replace(s)
}

var escaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`,
	"<", "&lt;", "&", "&amp;",
)

func markdownGrid() gridStyle {
	return gridStyle{
		opts: []tablewriter.Option{tablewriter.WithRenderer(renderer.NewMarkdown())},
		head: func(s string) string { return escape(oneLine(s)) },
		text: escape,
	}
}

// oneLine joins the two lines of a head: "con-\ntended" joins, "acquire\np50" gets
// a space.
func oneLine(head string) string {
	s := strings.ReplaceAll(strings.TrimSpace(head), "-\n", "")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "/\n", "/"), "\n/", "/")
	return strings.ReplaceAll(s, "\n", " ")
}

// sorted yields a map in order of its keys.
func sorted(m map[string]string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
