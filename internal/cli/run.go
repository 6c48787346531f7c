package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/impls"
	"lockbench/internal/engine"
	"lockbench/internal/exitcode"
	"lockbench/internal/host"
	"lockbench/lock"
	"lockbench/results"
	"lockbench/results/render"
)

func (a *app) runCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "measure locks and print a table",
		Long: "Measures every chosen lock in every chosen workload and prints a table of speed, latency, fairness and\n" +
			"cost. Each repetition is a fresh process with a warm-up, a throughput interval and a probe interval. null,\n" +
			"the lock that does nothing, is always measured: it is what the harness itself costs (null-lease for\n" +
			"distributed locks). These have one interval, in one or several client processes, on servers that are\n" +
			"brought up in containers and removed, or that --backend names.\n\n" +
			"Exit codes: 0 ok, 1 runtime error, 2 usage, 3 a safety violation or a hang, 130 interrupted.",
		Example: "  lockbench run\n" +
			"  lockbench run --lock 'mcs*,mutex' --workload moderate --workers 1:4\n" +
			"  lockbench run --lock ticket,ticket-park --workload oversubscribed --out run.jsonl\n" +
			"  lockbench run -f matrix.yaml --format markdown",
		Args: noArgs,
	}
	f := a.addSpecFlags(cmd, engine.Default())
	var o runOptions
	o.addOutput(cmd)
	cmd.Flags().StringVar(&o.format, "format", "table", "what to print: "+formatNames())
	completeWords(cmd, "format", render.Names()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.outGiven = cmd.Flags().Changed("out")
		return a.run(cmd.Context(), f, o)
	}
	return cmd
}

type runOptions struct {
	out, format, progress string
	outGiven              bool
	force                 bool
	labels                []string
}

// addOutput adds the flags of every verb that measures and keeps records.
func (o *runOptions) addOutput(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.out, "out", "", "write all records to this file, JSON lines")
	fs.BoolVar(&o.force, "force", false, "let --out replace an existing file")
	fs.StringVar(&o.progress, "progress", "auto", "auto (a bar on a terminal), plain (a line a repetition) or none")
	fs.StringArrayVar(&o.labels, "label", nil, "KEY=VALUE, kept in the header of the results; may be repeated")
	completeWords(cmd, "progress", progressModes...)
}

// run is the verb. Everything that can be wrong is found before anything is
// measured and before a file is touched.
func (a *app) run(ctx context.Context, f *specFlags, o runOptions) (err error) {
	format, err := lookupFormat(o.format)
	if err != nil {
		return err
	}
	if err := checkProgress(o.progress); err != nil {
		return err
	}
	given, err := parseLabels(o.labels)
	if err != nil {
		return err
	}
	h := host.Collect()
	plan, err := a.plan(f, h)
	if err != nil {
		return err
	}
	labels := map[string]string{}
	maps.Copy(labels, f.labels)
	maps.Copy(labels, given)
	if err := checkRunners(plan.Spec); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return &runtimeError{fmt.Errorf("find this program's own file: %w", err)}
	}
	sink := &recorder{builder: results.NewBuilder(histograms(format)...)}
	inputs := []string{self}
	if f.file != "" {
		inputs = append(inputs, f.file)
	}
	for _, path := range plan.Spec.Runners {
		inputs = append(inputs, path)
	}
	closeOut, err := sink.open(o, inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	cal := engine.Calibrate(invariant(h))
	head := header(plan, h, cal, labels)
	r := &engine.Runner{Self: []string{self, cellVerb}, Calibration: cal, Sink: sink}
	closeServers, err := a.raise(ctx, r, plan, head.RunID, f.remote.urls)
	defer func() { err = errors.Join(err, closeServers()) }()
	if err != nil {
		return err
	}
	if err := sink.header(head); err != nil {
		return &runtimeError{err}
	}
	p := newProgress(o.progress, a.env.Stderr)
	r.Progress = p
	sum, err := r.Run(ctx, plan)
	p.finish()
	if err != nil {
		return &runtimeError{err}
	}
	if err := format.Write(a.env.Stdout, sink.builder.Report()); err != nil {
		return &runtimeError{fmt.Errorf("print the report: %w", err)}
	}
	a.gone(r)
	a.conclude(sum)
	return nil
}

// gone says which servers went in mid-run.
func (a *app) gone(r *engine.Runner) {
	gone := r.Gone()
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		fmt.Fprintf(a.env.Stderr, "lockbench: error: %s: %s\n", name, results.Printable(strings.ReplaceAll(gone[name], "\n", "; ")))
		fmt.Fprintln(a.env.Stderr, "lockbench: hint: was a server killed, or is the machine out of memory? Its rows are not to be trusted; run again")
		a.code = exitcode.Runtime
	}
}

// plan makes the plan that flags and file ask for. With engine.ErrNothing the plan
// is there, too: of skipped cells.
func (a *app) plan(f *specFlags, h host.Info) (*engine.Plan, error) {
	m := machine(h)
	spec, err := f.build(func(s engine.Spec) error {
		if err := s.Validate(m); err != nil {
			return err
		}
		_, err := engine.Select(slices.Concat(a.catalogue, a.broken), s.Locks)
		return err
	})
	if err != nil {
		return nil, err
	}
	catalogue := a.catalogue
	for _, b := range a.broken {
		for _, name := range spec.Locks {
			if name == b.Name {
				catalogue = impls.Merge(catalogue, []lock.Info{b})
			}
		}
	}
	return f.plan(func() (*engine.Plan, error) { return engine.NewPlan(spec, catalogue, m) })
}

// plan calls make, and names the file in what is wrong with a plan.
func (f *specFlags) plan(make func() (*engine.Plan, error)) (*engine.Plan, error) {
	p, err := make()
	var usage *engine.UsageError
	if f.file != "" && errors.As(err, &usage) && !errors.Is(err, engine.ErrNothing) {
		err = &engine.UsageError{Err: fmt.Errorf("%s: %w", f.file, usage.Err), Hint: usage.Hint}
	}
	return p, err
}

// conclude sets the exit code and says on stderr what the table may hide.
func (a *app) conclude(sum engine.Summary) {
	switch {
	case sum.Worst():
		a.code = exitcode.Safety
		fmt.Fprintf(a.env.Stderr, "lockbench: error: %s\n", sum.CountOutcomes())
	case sum.Interrupted:
		a.code = exitcode.Interrupted
		fmt.Fprintf(a.env.Stderr, "lockbench: interrupted after %d of %d repetitions\n", sum.Done, sum.Total)
	case sum.Outcomes[results.OutcomeError] > 0:
		a.code = exitcode.Runtime
		fmt.Fprintf(a.env.Stderr, "lockbench: error: %s\n", sum.CountOutcomes())
	}
}

// checkRunners finds runners that cannot be started.
func checkRunners(s engine.Spec) error {
	for name, path := range s.Runners {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return usageErr(fmt.Errorf("runner %s: %w", name, err), "--runner wants NAME=PATH of a program, see docs/CELL_PROTOCOL.md")
		case st.IsDir() || st.Mode()&0o111 == 0:
			return usageErr(fmt.Errorf("runner %s: %s is not a program", name, path), "--runner wants NAME=PATH of a program, see docs/CELL_PROTOCOL.md")
		}
	}
	return nil
}

// header is the first record of a run.
func header(p *engine.Plan, h host.Info, cal engine.Calibration, labels map[string]string) *results.Run {
	now := time.Now().UTC()
	run := &results.Run{
		Type: results.TypeRun, Schema: results.SchemaMajor, RunID: runID(now, p.Spec.Seed),
		Started: now.Format(time.RFC3339), Seed: p.Spec.Seed, Spec: p.Spec, Host: h,
		Go: goInfo(), Program: program(),
		Clock: results.Clock{Kind: cal.Clock.Kind, CostNS: cal.Clock.CostNS, ResolutionNS: cal.Clock.ResolutionNS,
			HZ: cal.Clock.HZ, ErrorPPM: cal.Clock.ErrorPPM},
		Calibration: results.Calibration{UnitNS: cal.UnitNS, UnitMADNS: cal.UnitMADNS, Rounds: cal.Rounds},
		Labels:      labels, CellsPlanned: len(p.Cells), Reps: p.Spec.Reps,
	}
	for _, w := range p.Spec.Workloads {
		run.Workloads = append(run.Workloads, w.Name)
	}
	for _, d := range h.Doubts() {
		run.Doubts = append(run.Doubts, d.What)
	}
	return run
}

// runID names a run: its start, and what tells apart two that start together.
func runID(now time.Time, seed uint64) string {
	return fmt.Sprintf("%s-%d-%d", now.Format("20060102T150405.000Z"), os.Getpid(), seed)
}

// recorder keeps records in the results file, if there is one, and for the
// report.
type recorder struct {
	builder *results.Builder
	file    *results.Writer
	also    func(*results.Sample) // told of each sample, too; may be nil
}

const inMemory = "this run"

// open opens the results file, if one is asked for, and returns what closes it.
// inputs are files that it must not be.
func (r *recorder) open(o runOptions, inputs []string) (close func() error, err error) {
	if o.outGiven && o.out == "" {
		return nil, usageErr(errors.New("--out: the name of the file is empty"), "leave --out away to keep no records")
	}
	if o.out == "" {
		return func() error { return nil }, nil
	}
	if err := notAnInput("--out", o.out, inputs); err != nil {
		return nil, err
	}
	if r.file, err = results.Create(o.out, o.force); err != nil {
		return nil, usageErr(err, "see: --help") // the store has hints of its own
	}
	return func() error {
		if err := r.file.Close(); err != nil {
			return &runtimeError{err}
		}
		return nil
	}, nil
}

func (r *recorder) header(run *results.Run) error {
	return r.put(run, results.Record{Type: results.TypeRun, Run: run})
}

// Sample implements engine.Sink.
func (r *recorder) Sample(s *results.Sample) error {
	if r.also != nil {
		r.also(s)
	}
	return r.put(s, results.Record{Type: results.TypeSample, Sample: s})
}

// Event implements engine.Sink.
func (r *recorder) Event(e results.Event) error {
	return r.put(&e, results.Record{Type: results.TypeEvent, Event: &e})
}

func (r *recorder) put(v any, rec results.Record) error {
	if r.file != nil {
		if err := r.file.Write(v); err != nil {
			return err
		}
	}
	return r.builder.Add(inMemory, rec)
}

// histograms keeps them for a format that shows them.
func histograms(f render.Format) []results.BuilderOption {
	if f.Histograms {
		return []results.BuilderOption{results.KeepHistograms()}
	}
	return nil
}

func formatNames() string { return strings.Join(render.Names(), ", ") }

func lookupFormat(name string) (render.Format, error) {
	f, err := render.Lookup(name)
	if err != nil {
		return f, usageErr(fmt.Errorf("--format: %w", err), "formats: "+formatNames())
	}
	return f, nil
}
