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
}

// Formats are all formats, the default first.
func Formats() []Format {
	return []Format{
		{"table", "for reading in a terminal", Table, false, false},
		{"markdown", "GitHub tables", Markdown, false, false},
		{"csv", "one row a cell, units in the header", CSV, false, false},
		{"json", "an array of summary records, one a cell", JSON, false, false},
		{"bench", "Go benchmark lines, one a repetition, for benchstat", Bench, true, false},
		{"html", "one page with tables that sort and filter, and charts", HTML, true, true},
		{"latex", "tables for a paper, with the package booktabs", LaTeX, false, false},
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
