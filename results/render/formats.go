// Package render writes a results.Report in the formats of --format.
package render

import (
	"fmt"
	"io"
	"strings"

	"lockbench/results"
)

// A Format is one way to write a report. Write writes everything or returns the
// first error of w. All text in a Report is printable already; a Format adds
// only the escapes of its own syntax.
type Format struct {
	Name  string
	Help  string // one line for --help
	Write func(w io.Writer, rep *results.Report) error
	// Samples: it shows single repetitions, RunReport.Samples.
	Samples bool
	// Histograms: it shows more than the percentiles of single repetitions, and
	// wants a Report that was built with results.KeepHistograms.
	Histograms bool
	// Detail writes more than Write does of what faults did; nil = Write leaves nothing out.
	Detail func(w io.Writer, rep *results.Report) error
}

// Detailed writes all that the format has.
func (f Format) Detailed(w io.Writer, rep *results.Report) error {
	if f.Detail == nil {
		return f.Write(w, rep)
	}
	return f.Detail(w, rep)
}

// Formats are all formats, the default first.
func Formats() []Format {
	return []Format{
		{Name: "table", Help: "for reading in a terminal", Write: Table, Detail: TableDetail},
		{Name: "markdown", Help: "GitHub tables", Write: Markdown},
		{Name: "csv", Help: "one row a cell, units in the header", Write: CSV},
		{Name: "json", Help: "an array of summary records, one a cell", Write: JSON},
		{Name: "bench", Help: "Go benchmark lines, one a repetition, for benchstat", Write: Bench, Samples: true},
		{Name: "html", Help: "one page with tables that sort and filter, and charts", Write: HTML, Samples: true, Histograms: true},
		{Name: "latex", Help: "tables for a paper, with the package booktabs", Write: LaTeX},
	}
}

// Names are the names of all formats, in order.
func Names() []string { return names(Formats()) }

// Lookup finds a format by its name.
func Lookup(name string) (Format, error) { return lookup(Formats(), name) }

func (f Format) name() string { return f.Name }

// names and lookup serve the formats of reports, comparisons and verdicts.
func names[F interface{ name() string }](formats []F) []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name())
	}
	return out
}

func lookup[F interface{ name() string }](formats []F, name string) (F, error) {
	for _, f := range formats {
		if f.name() == name {
			return f, nil
		}
	}
	var none F
	return none, fmt.Errorf("unknown format %q: it is one of %s", results.Printable(name), strings.Join(names(formats), ", "))
}
