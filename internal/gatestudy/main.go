// Gatestudy measures how far the verdicts of lockbench gate can be trusted on
// this machine: how often it fails a build that is no slower, and how often it
// finds a slowdown of known size.
//
// It builds lockbench programs whose locks are slower by a planted amount of
// work (impls/planted), records paired sessions of them with lockbench ab, and
// lets the code that decides in lockbench gate decide again and again over
// blocks of consecutive recorded pairs. Some gates are run live, too. See
// docs/GATE_STUDY.md.
//
// Programs and recordings are kept in a directory, and complete ones are used
// again; deleting it is measuring anew. It exits 0 when it could measure,
// whatever the figures are.
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
	"time"

	"lockbench/results/gate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// The exit codes, as lockbench has them.
const (
	exitOK          = 0
	exitRuntime     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// threshold is the regression that the study's rule allows.
const threshold = 0.02

// metric is what the rule is about, and what a slowdown is a share of: a
// slowdown of 5 % makes an operation take 1.05 times as long.
const metric = "wall_ns_per_op"

// otherMetric is what the same recordings are judged by for comparison: it
// does not count the time in which other programs had the processor.
const otherMetric = "cpu_ns_per_op"

// lockNames are the ten locks that are slowed down.
func lockNames() []string {
	return []string{"mutex", "chan", "tas", "ttas-backoff", "ticket", "mcs", "clh", "hemlock", "futex", "anderson"}
}

// options are the flags.
type options struct {
	program, dir, doc     string
	locks                 []string
	workers               int
	pairs, contend        int
	slow                  []int // by slowdown
	layouts               int
	gates, live, budget   int
	seed                  uint64
	duration, probe, warm time.Duration
	only                  []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var locks, only, slow string
	fs := flag.NewFlagSet("gatestudy", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.program, "program", "bin/lockbench", "the lockbench program that records and gates")
	fs.StringVar(&o.dir, "dir", "out/gate-study", "where programs and recordings are kept, and used again")
	fs.StringVar(&o.doc, "write", "", "write the tables into this file, between its markers")
	fs.StringVar(&only, "only", "", "measure some parts only: "+strings.Join(partNames(), ", "))
	fs.StringVar(&locks, "lock", strings.Join(lockNames(), ","), "the locks to slow down")
	fs.IntVar(&o.workers, "workers", 1, "workers of each cell")
	fs.IntVar(&o.pairs, "pairs", 1024, "pairs of a session of equal programs")
	fs.StringVar(&slow, "slow-pairs", slowPairs, "pairs of the sessions with slowdowns of 20, 10 and 5 %, or one number for each of them")
	fs.IntVar(&o.contend, "contended-pairs", 192, "pairs of the session with as many workers as cores")
	fs.IntVar(&o.layouts, "layouts", 4, "builds a side with different code layout")
	fs.IntVar(&o.gates, "gates", 1000, "gates that are replayed over each recording, where they are drawn")
	fs.IntVar(&o.live, "live", 30, "gates that are run live")
	fs.IntVar(&o.budget, "budget", 128, "pairs that a gate may use")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of sessions, layouts and replays")
	fs.DurationVar(&o.duration, "duration", 10*time.Millisecond, "length of the throughput interval")
	fs.DurationVar(&o.probe, "probe", time.Millisecond, "length of the probe interval")
	fs.DurationVar(&o.warm, "warmup", 2*time.Millisecond, "length of the warm-up")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.locks = strings.Split(locks, ",")
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	var err error
	if o.slow, err = numbers(slow, len(slowdowns())); err != nil {
		return o, fmt.Errorf("-slow-pairs: %w", err)
	}
	return o, o.check(fs.Args())
}

// slowPairs is by what the targets take: if each trial is a success, 368 of them
// prove 99 %, 72 prove 95 %, and 17 prove 80 %; with one that is not, 555 prove
// 99 %. See singles.
const slowPairs = "1024,512,640"

// numbers reads so many numbers, or one for all.
func numbers(text string, n int) ([]int, error) {
	words := strings.Split(text, ",")
	if len(words) != 1 && len(words) != n {
		return nil, fmt.Errorf("%q: want 1 or %d numbers", text, n)
	}
	out := make([]int, n)
	for i := range out {
		v, err := strconv.Atoi(words[i%len(words)])
		if err != nil {
			return nil, fmt.Errorf("%q: %q is no number", text, words[i%len(words)])
		}
		out[i] = v
	}
	return out, nil
}

func (o options) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q: it takes flags only", rest[0])
	}
	for _, name := range o.only {
		if !slices.Contains(partNames(), name) {
			return fmt.Errorf("there is no part %q; one of %s", name, strings.Join(partNames(), ", "))
		}
	}
	least := gate.NewPlan(gate.DefaultAlpha, len(o.locks), o.budget).MinBudget()
	switch {
	case o.budget < least || o.budget > gate.MaxBudget:
		return fmt.Errorf("-budget %d: %d locks need %d to %d", o.budget, len(o.locks), least, gate.MaxBudget)
	case min(o.pairs, slices.Min(o.slow), o.contend) < o.budget:
		return fmt.Errorf("every session needs at least as many pairs as the budget of a gate, %d", o.budget)
	case o.layouts < 1 || o.pairs/(o.layouts*o.layouts) < least:
		return fmt.Errorf("-layouts %d: each of %d combinations needs %d pairs of -pairs %d", o.layouts, o.layouts*o.layouts, least, o.pairs)
	case o.gates < 1 || o.live < 0 || o.workers < 1:
		return errors.New("-gates and -workers want 1 or more, -live 0 or more")
	case o.doc != "" && len(o.only) > 0:
		return errors.New("-write wants all parts: leave out -only")
	}
	return nil
}

// wants reports whether a part is to be measured.
func (o options) wants(part string) bool { return len(o.only) == 0 || slices.Contains(o.only, part) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, "gatestudy: error:", err)
		return exitUsage
	}
	if o.doc != "" {
		if err := marks.Check(o.doc); err != nil {
			fmt.Fprintln(stderr, "gatestudy: error:", err)
			return exitUsage
		}
	}
	st, err := newStudy(o, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "gatestudy: error: %v\ngatestudy: hint: make build\n", err)
		return exitUsage
	}
	err = st.measure(ctx)
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "gatestudy: interrupted; complete recordings are in %s and will be used again\n", o.dir)
		return exitInterrupted
	}
	if err != nil {
		fmt.Fprintln(stderr, "gatestudy: error:", err)
		return exitRuntime
	}
	text := st.document()
	fmt.Fprintln(stdout, text)
	for _, f := range st.figures() {
		fmt.Fprintln(stdout, f)
	}
	switch {
	case len(st.failed) > 0:
		return exitRuntime
	case o.doc != "":
		if err := marks.Write(o.doc, text); err != nil {
			fmt.Fprintln(stderr, "gatestudy: error:", err)
			return exitRuntime
		}
	}
	return exitOK
}

// newStudy makes the directory.
func newStudy(o options, stderr io.Writer) (*study, error) {
	program, err := filepath.Abs(o.program)
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		return nil, err
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return nil, err
	}
	o.program = program
	return &study{o: o, stderr: stderr, failed: map[string]error{}}, nil
}
