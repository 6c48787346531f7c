package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockbench/internal/docsplice"
	"lockbench/internal/exitcode"
	"lockbench/internal/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], groups(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// marks are the lines between which the document's generated part stands.
var marks = docsplice.Marks{Begin: "<!-- bench-chaos: begin, written by make bench-chaos -->", End: "<!-- bench-chaos: end -->"}

// options are the flags.
type options struct {
	program, doc   string
	only, files    []string
	rounds, repeat int
	seed           uint64
	json           bool
}

func parse(args []string, gs []group, stderr io.Writer) (options, error) {
	var o options
	var only, files string
	fs := flag.NewFlagSet("chaos", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.program, "program", "bin/lockbench", "the lockbench program to measure")
	fs.StringVar(&only, "only", "", "measure some groups or figures only: "+strings.Join(names(gs), ", "))
	fs.IntVar(&o.rounds, "rounds", 0, "rounds of each cell (default: each group's own)")
	fs.IntVar(&o.repeat, "repeat", 0, "repetitions of what is repeated (default: each group's own)")
	fs.StringVar(&files, "file", "", "take these records for chaos-agree, instead of a run; separated by commas")
	fs.Uint64Var(&o.seed, "seed", 1, "of the runs; repeated runs of recovery take the next ones, too")
	fs.BoolVar(&o.json, "json", false, "print a JSON object a figure")
	fs.StringVar(&o.doc, "write", "", "write the table into this file, between its markers")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	if files != "" {
		o.files = strings.Split(files, ",")
	}
	for _, n := range o.only {
		if !slices.Contains(names(gs), n) {
			return o, fmt.Errorf("-only: there is no group or figure %q; there are %s", n, strings.Join(names(gs), ", "))
		}
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q: it takes flags only", fs.Args())
	case o.rounds < 0:
		return o, fmt.Errorf("-rounds %d: want a number above 0", o.rounds)
	case o.repeat < 0:
		return o, fmt.Errorf("-repeat %d: want a number above 0", o.repeat)
	case o.doc != "" && len(o.only) > 0:
		return o, errors.New("-write with -only: the table would lack the other figures")
	}
	for _, f := range o.files {
		if _, err := os.Stat(f); err != nil {
			return o, fmt.Errorf("-file: %w", err)
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, gs []group, stdout, stderr io.Writer) int {
	usage := func(err error, hint string) int {
		fmt.Fprintf(stderr, "bench-chaos: error: %v\nbench-chaos: hint: %s\n", err, hint)
		return exitcode.Usage
	}
	o, err := parse(args, gs, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitcode.OK
	}
	if err != nil {
		return usage(err, "-h lists the flags")
	}
	if o.program, err = filepath.Abs(o.program); err == nil {
		_, err = os.Stat(o.program)
	}
	if err != nil {
		return usage(err, "make build")
	}
	if o.doc != "" {
		if err := marks.Check(o.doc); err != nil {
			return usage(err, "the table is written between two lines of docs/BENCH_CHAOS.md")
		}
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "bench-chaos: error:", err)
		return exitcode.Runtime
	}
	dir, err := os.MkdirTemp("", "lockbench-figures-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{program: o.program, dir: dir, seed: o.seed, files: o.files, begun: time.Now(),
		say: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }}
	all := b.all(ctx, gs, o)
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "bench-chaos: interrupted")
		return exitcode.Interrupted
	}
	print := all.Print
	if o.json {
		print = all.PrintJSON
	}
	if err := print(stdout); err != nil {
		return fail(err)
	}
	if o.doc != "" {
		if err := marks.Write(o.doc, b.document(all)); err != nil {
			return fail(fmt.Errorf("write the table: %w", err))
		}
	}
	if slices.ContainsFunc(all.Figures, func(f figure.Figure) bool { return f.N < 1 || f.Err != nil }) {
		return exitcode.Runtime
	}
	return exitcode.OK
}

// all runs the groups that are asked for.
func (b *bench) all(ctx context.Context, gs []group, o options) figure.Report {
	var all figure.Report
	for _, g := range gs {
		targets := g.asked(o.only)
		if len(targets) == 0 {
			continue
		}
		b.say("measuring: %s, about %v", g.name, g.takes)
		begun := time.Now()
		got, err := g.measure(ctx, b, g.size(o), targets)
		if ctx.Err() != nil {
			return all
		}
		if err != nil {
			b.say("not measured: %s: %v", g.name, err)
			got = figure.Report{Remarks: got.Remarks}
			for _, t := range targets {
				got.Figures = append(got.Figures, t.Failed(err))
			}
		}
		b.say("measured: %s, in %v", g.name, time.Since(begun).Round(time.Second))
		all.Add(got)
	}
	return all
}

// seedOf is the seed of the nth run that has one of its own, from 0.
func (b *bench) seedOf(n int) string { return strconv.FormatUint(b.seed+uint64(n), 10) }

// document is what was measured, and on what.
func (b *bench) document(all figure.Report) string {
	var w strings.Builder
	fmt.Fprintf(&w, "Measured on %s", b.begun.Format("2 January 2006"))
	if b.host != "" {
		fmt.Fprintf(&w, "; %s", b.host)
	}
	return w.String() + "; clients and servers on the same machine.\n\n" + all.Table()
}
