// Figures measures what the project promises of its own speed and cost and
// prints one line a figure, last:
//
//	figure NAME VALUE UNIT target OP LIMIT ok|short
//
// ok only if the bound of the figure's 95 % interval meets the limit. What is
// compared is measured in one run, interleaved; ratios are taken within pairs
// that ran next to each other. It exits 0 when it could measure, whatever the
// figures are.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	program := flag.String("program", "bin/lockbench", "the lockbench program to measure")
	only := flag.String("only", "", "measure one group only: cost, gotest, overhead, memory, loop, default")
	flag.Parse()
	os.Exit(run(*program, *only, os.Stdout, os.Stderr))
}

// group measures some figures that belong together.
type group struct {
	name    string
	measure func(*bench) ([]figure, error)
	figures []string // their names, in case it cannot be measured
}

func groups() []group {
	return []group{
		{"cost", (*bench).cost, []string{"null_per_mutex", "tas_per_mutex", "ticket_per_mutex", "clh_per_mutex", "mcs_per_mutex"}},
		{"gotest", (*bench).gotest, []string{"mutex_vs_gotest"}},
		{"overhead", (*bench).overhead, []string{"repetition_overhead"}},
		{"memory", (*bench).memory, []string{"memory_growth", "memory_peak", "memory_peak_semaphore"}},
		{"loop", (*bench).loop, []string{"clock_reads_per_op", "mallocs_per_op"}},
		{"default", (*bench).defaultRun, []string{"default_run"}},
	}
}

func run(program, only string, stdout, stderr io.Writer) int {
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
	b := &bench{program: path, dir: dir, log: stderr}
	var lines []string
	for _, g := range groups() {
		if only != "" && only != g.name {
			continue
		}
		fmt.Fprintf(stderr, "measuring: %s\n", g.name)
		figs, err := g.measure(b)
		if err != nil {
			for _, name := range g.figures {
				lines = append(lines, fmt.Sprintf("figure %s (%v) short", name, err))
			}
			continue
		}
		for _, f := range figs {
			fmt.Fprintf(stdout, "%-24s %s\n", f.name, f.detail())
			lines = append(lines, f.String())
		}
	}
	for _, l := range lines {
		fmt.Fprintln(stdout, l)
	}
	return 0
}
