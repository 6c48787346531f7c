package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockbench/backends"
	"lockbench/internal/exitcode"
	"lockbench/internal/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], groups(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	program, doc, tools string
	only                []string
	rounds              int
	seed                uint64
	json                bool
}

func parse(args []string, gs []group, stderr io.Writer) (options, error) {
	var o options
	var only string
	fs := flag.NewFlagSet("distributed", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.program, "program", "bin/lockbench", "the lockbench program to measure")
	fs.StringVar(&only, "only", "", "measure some groups or figures only: "+strings.Join(names(gs), ", "))
	fs.IntVar(&o.rounds, "rounds", 0, "rounds of each comparison, and starts of each topology (default: each group's own)")
	fs.StringVar(&o.tools, "tools", toolsAuto, "where redis-benchmark and pgbench are: path, container (the server's image), or auto: path, else container")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the order within rounds")
	fs.BoolVar(&o.json, "json", false, "print a JSON object a figure")
	fs.StringVar(&o.doc, "write", "", "write the table into this file, between its markers")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if only != "" {
		o.only = strings.Split(only, ",")
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
	case !slices.Contains([]string{toolsAuto, toolsPath, toolsContainer}, o.tools):
		return o, fmt.Errorf("-tools %q: want auto, path or container", o.tools)
	case o.doc != "" && len(o.only) > 0:
		return o, errors.New("-write with -only: the table would lack the other figures")
	}
	return o, nil
}

func run(ctx context.Context, args []string, gs []group, stdout, stderr io.Writer) int {
	usage := func(err error, hint string) int {
		fmt.Fprintf(stderr, "bench-distributed: error: %v\nbench-distributed: hint: %s\n", err, hint)
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
			return usage(err, "the table is written between two lines of docs/BENCH_DISTRIBUTED.md")
		}
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "bench-distributed: error:", err)
		return exitcode.Runtime
	}
	dir, err := os.MkdirTemp("", "lockbench-figures-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	say := func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	b := &bench{program: o.program, dir: dir, tools: o.tools, rng: rand.New(rand.NewPCG(o.seed, 0)), say: say, begun: time.Now(),
		servers: &servers{program: o.program, seen: map[string]backends.Facts{}, o: backends.Options{RunID: "figures", Log: func(l string) { say("%s", l) }}}}
	all := b.all(ctx, gs, o)
	if err := b.servers.close(); err != nil {
		return fail(fmt.Errorf("remove the servers: %w", err))
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "bench-distributed: interrupted")
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
		if !g.wants(o.only) {
			continue
		}
		rounds := g.rounds
		if o.rounds > 0 {
			rounds = o.rounds
		}
		b.say("measuring: %s, about %v", g.name, g.takes*time.Duration(rounds)/time.Duration(g.rounds))
		begun := time.Now()
		got, err := g.measure(ctx, b, rounds, slices.Clone(g.targets))
		if err != nil {
			b.say("not measured: %s: %v", g.name, err)
			if h := interface{ Hint() string }(nil); errors.As(err, &h) && h.Hint() != "" {
				b.say("hint: %s", h.Hint())
			}
			got = figure.Report{}
			for _, t := range g.targets {
				got.Figures = append(got.Figures, t.Failed(err))
			}
		}
		b.say("measured: %s, in %v", g.name, time.Since(begun).Round(time.Second))
		all.Figures = append(all.Figures, g.asked(o.only, got.Figures)...)
		all.Notes = append(all.Notes, got.Notes...)
	}
	return all
}

// rounds tells of every fourth round.
func (b *bench) rounds(group string, of int) func(int) {
	return func(r int) {
		if r%4 == 1 {
			b.say("%s: round %d of %d", group, r, of)
		}
	}
}
