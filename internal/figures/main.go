// Figures measures what the project promises of its own speed and cost and
// prints one line a figure, last; see package figure for their form.
//
// What is compared is measured in one run, interleaved; ratios are taken within
// pairs that ran next to each other. It exits 0 when it could measure, whatever
// the figures are.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/figure"
)

func main() {
	program := flag.String("program", "bin/lockbench", "the lockbench program to measure")
	only := flag.String("only", "", "measure one group only: "+strings.Join(groupNames(), ", "))
	flag.Parse()
	os.Exit(run(*program, *only, os.Stdout, os.Stderr))
}

// group measures some figures that belong together.
type group struct {
	name    string
	measure func(*bench, []figure.Figure) ([]figure.Figure, error)
	targets []figure.Figure
	// named: only when it is asked for by name.
	named bool
}

func groups() []group {
	atMost := func(name, unit string, limit float64) figure.Figure {
		return figure.Figure{Name: name, Unit: unit, Op: figure.AtMost, Limit: limit}
	}
	return []group{
		{"cost", (*bench).cost, []figure.Figure{
			atMost("null_per_mutex", "ratio", 0.25), atMost("tas_per_mutex", "ratio", 0.75), atMost("ticket_per_mutex", "ratio", 0.75),
			atMost("clh_per_mutex", "ratio", 0.75), atMost("mcs_per_mutex", "ratio", 1.25)}, false},
		{"gotest", (*bench).gotest, []figure.Figure{atMost("mutex_vs_gotest", "pct", 15)}, false},
		{"overhead", (*bench).overhead, []figure.Figure{atMost("repetition_overhead", "empty-programs", 10)}, false},
		{"memory", (*bench).memory, []figure.Figure{
			atMost("memory_growth", "pct", 5), atMost("memory_peak", "MiB", 64), atMost("memory_peak_semaphore", "MiB", 96)}, false},
		{"loop", (*bench).loop, []figure.Figure{atMost("clock_reads_per_op", "1", 0.01), atMost("mallocs_per_op", "1", 0.01)}, false},
		{"default", (*bench).defaultRun, []figure.Figure{atMost("default_run", "s", 30)}, false},
		{"store", (*bench).store, []figure.Figure{
			atMost("summarise_100k", "s", 5), atMost("summarise_100k_peak", "MiB", 256), atMost("merge_hists_100k", "s", 60)}, true},
	}
}

func groupNames() []string {
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	return names
}

func run(program, only string, stdout, stderr io.Writer) int {
	if only != "" && !slices.Contains(groupNames(), only) {
		fmt.Fprintf(stderr, "figures: error: there is no group %q\nfigures: hint: one of %s\n", only, strings.Join(groupNames(), ", "))
		return 2
	}
	path, err := filepath.Abs(program)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		fmt.Fprintf(stderr, "figures: error: %v\nfigures: hint: make build\n", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "lockbench-figures-")
	if err != nil {
		fmt.Fprintln(stderr, "figures: error:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	b := &bench{program: path, dir: dir}
	var figs []figure.Figure
	for _, g := range groups() {
		if only != "" && only != g.name || only == "" && g.named {
			continue
		}
		fmt.Fprintf(stderr, "measuring: %s\n", g.name)
		got, err := g.measure(b, g.targets)
		if err != nil {
			for _, t := range g.targets {
				figs = append(figs, t.Failed(err))
			}
			continue
		}
		for _, f := range got {
			fmt.Fprintf(stdout, "%-24s %s\n", f.Name, f.Detail())
		}
		figs = append(figs, got...)
	}
	for _, f := range figs {
		fmt.Fprintln(stdout, f)
	}
	return 0
}
