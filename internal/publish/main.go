// Publish measures this host with the published matrix and keeps what it found
// where readers look: results/published/HOST, an index beside it, and an excerpt
// in README.md.
//
//	publish              measure, then write all of it
//	publish -chaos FILE  add what lockbench chaos --out FILE wrote to the measurement of its host
//	publish -regenerate  write tables, charts and pages again from the records
//	publish -check       say what -regenerate would change, and change nothing
//
// HOST is made of facts in the records: processor, number of CPUs, hypervisor. Of
// what is published only raw.jsonl, matrix.yaml and chaos.jsonl are data; everything else
// comes from the records, by the code that prints `lockbench report`, and a test
// makes sure that it still does, byte by byte.
//
// A measurement takes the place of an older one as a whole, when it is complete:
// it is made in a directory of its own, which is renamed at the end. After an
// interrupt, a violation, a hang or a failed repetition nothing has changed. Exit
// codes are those of lockbench.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"lockbench/internal/exitcode"
	"lockbench/results"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	program, matrix    string
	out, readme, chaos string
	check, regenerate  bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("publish", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.program, "program", "bin/lockbench", "the lockbench program that measures")
	fs.StringVar(&o.matrix, "matrix", "results/published/matrix.yaml", "what to measure: a file for lockbench run -f")
	fs.StringVar(&o.out, "out", "results/published", "the directory of the published measurements")
	fs.StringVar(&o.readme, "readme", "README.md", "the page that shows an excerpt between its markers; empty: none")
	fs.BoolVar(&o.check, "check", false, "measure nothing, change nothing: compare what is there with what the records give")
	fs.BoolVar(&o.regenerate, "regenerate", false, "measure nothing: write tables, charts and pages again from the records")
	fs.StringVar(&o.chaos, "chaos", "", "measure nothing: publish this file of lockbench chaos --out beside the measurement of its host")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("%q: it takes flags only", fs.Arg(0))
	case o.check && o.regenerate, o.chaos != "" && (o.check || o.regenerate):
		return o, errors.New("-check, -regenerate and -chaos: one of them")
	case o.out == "":
		return o, errors.New("-out: the name of the directory is empty")
	}
	return o, nil
}

// A failure is an error with an exit code of its own, and a hint.
type failure struct {
	error
	code int
	hint string
}

func (f *failure) Unwrap() error { return f.error }

func fail(code int, hint, format string, args ...any) error {
	return &failure{fmt.Errorf(format, args...), code, hint}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitcode.OK
	}
	if err != nil {
		return report(stderr, &failure{err, exitcode.Usage, "publish -help has the flags"})
	}
	s := &site{out: o.out, readme: o.readme}
	switch {
	case o.check:
		err = s.check(stdout)
	case o.regenerate:
		err = s.regenerate(stdout)
	case o.chaos != "":
		err = s.publishChaos(o.chaos, stdout)
	default:
		err = measure(ctx, o, s, stdout, stderr)
	}
	if err != nil {
		return report(stderr, err)
	}
	return exitcode.OK
}

// report prints an error and returns the exit code.
func report(stderr io.Writer, err error) int {
	code, hint := exitcode.Runtime, ""
	var f *failure
	var h interface{ Hint() string }
	switch {
	case errors.As(err, &f):
		code, hint = f.code, f.hint
	case errors.As(err, &h):
		code, hint = exitcode.Usage, h.Hint()
	}
	fmt.Fprintf(stderr, "publish: error: %s\n", results.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if hint != "" {
		fmt.Fprintf(stderr, "publish: hint: %s\n", hint)
	}
	return code
}
