package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/engine"
	"lockbench/internal/host"
	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/render"
)

// abReps is how many pairs ab measures by default: as many as the first look
// of a gate.
const abReps = 16

func (a *app) abCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ab --old PROGRAM --new PROGRAM",
		Short: "compare two builds of a lockbench program, back to back",
		Long: "Measures every cell in pairs: the old and the new program, back to back, in random order, in one session, with the\n" +
			"same seeds and the same calibrated units of work. What drifts on the machine hits both alike, and the ratio within\n" +
			"a pair does not see it. --reps is the number of pairs. Pairs whose halves ran in different coherence modes are\n" +
			"dropped and counted. --old and --new may be given several times, for builds that differ in code layout only.\n\n" +
			"It decides nothing; lockbench gate does, on programs or on what --out wrote.\n\n" +
			"Exit codes: 0 ok, 1 runtime error, 2 usage, 3 a safety violation or a hang, 130 interrupted.",
		Example: "  lockbench ab --old ./lockbench-old --new ./lockbench-new --lock mcs --workload moderate\n" +
			"  lockbench ab --old ./old --new ./new --reps 64 --out ab.jsonl && lockbench gate --rules rules.yaml ab.jsonl",
		Args: noArgs,
	}
	base := engine.Default()
	base.Reps = abReps
	f := a.addPairedFlags(cmd, base)
	var o runOptions
	var c compareFlags
	o.addOutput(cmd)
	c.add(cmd)
	cmd.Flags().StringVar(&o.format, "format", "table", "what to print: "+strings.Join(render.ComparisonNames(), ", "))
	completeWords(cmd, "format", render.ComparisonNames()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.outGiven = cmd.Flags().Changed("out")
		return a.ab(cmd.Context(), f, o, c)
	}
	return cmd
}

// pairedFlags are those of a paired session: the programs, and the spec.
type pairedFlags struct {
	*specFlags
	old, new []string
}

func (a *app) addPairedFlags(cmd *cobra.Command, base engine.Spec) *pairedFlags {
	f := &pairedFlags{}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&f.old, "old", nil, "the old program; several times for several builds of it")
	fs.StringArrayVar(&f.new, "new", nil, "the new program; several times for several builds of it")
	f.specFlags = a.addSpecFlags(cmd, base)
	fs.Lookup("reps").Usage = "pairs of repetitions, each in two fresh processes"
	if err := fs.MarkHidden("runner"); err != nil {
		panic(err) // addSpecFlags has it
	}
	return f
}

// inputs are the files that a session reads and runs.
func (f *pairedFlags) inputs() []string {
	files := slices.Concat(f.old, f.new)
	if f.file != "" {
		files = append(files, f.file)
	}
	return files
}

// A pairing is an open paired session.
type pairing struct {
	session engine.Paired
	sink    *recorder
	show    *progress
	sum     engine.Summary
}

// openPairing checks everything that can be wrong, opens the file and writes
// the header; check may object to the plan, and set its repetitions; inputs are
// further files that the one to be written must not be. close must be called in any
// case when the error is nil.
func (a *app) openPairing(ctx context.Context, f *pairedFlags, o runOptions, inputs []string, check func(*engine.Plan) error) (_ *pairing, close func() error, err error) {
	if err := checkProgress(o.progress); err != nil {
		return nil, nil, err
	}
	given, err := parseLabels(o.labels)
	if err != nil {
		return nil, nil, err
	}
	peers, err := openPeers(ctx, f.old, f.new)
	if err != nil {
		return nil, nil, err
	}
	h := host.Collect()
	plan, err := a.pairedPlan(f, peers, h)
	if err != nil {
		return nil, nil, err
	}
	if err := check(plan); err != nil {
		return nil, nil, err
	}
	p := &pairing{sink: &recorder{builder: results.NewBuilder()}}
	if close, err = p.sink.open(o, slices.Concat(f.inputs(), inputs)); err != nil {
		return nil, nil, err
	}
	cal := engine.Calibrate(invariant(h))
	labels := map[string]string{}
	maps.Copy(labels, f.labels)
	maps.Copy(labels, given)
	head := header(plan, h, cal, labels)
	p.session = engine.Paired{Plan: plan}
	for _, x := range peers {
		head.Programs = append(head.Programs, x.info)
		if x.Side == results.SideOld {
			p.session.Old = append(p.session.Old, x.Program)
		} else {
			p.session.New = append(p.session.New, x.Program)
		}
	}
	p.session.Runner = &engine.Runner{Self: []string{"", cellVerb}, Calibration: cal, Sink: p.sink}
	closeFile := close
	closeServers, err := a.raise(ctx, p.session.Runner, plan, head.RunID, f.remote.urls)
	close = func() error { return errors.Join(closeServers(), closeFile()) }
	if err != nil {
		return nil, nil, errors.Join(err, close())
	}
	if err := p.sink.header(head); err != nil {
		return nil, nil, errors.Join(&runtimeError{err}, close())
	}
	p.show = newProgress(o.progress, a.env.Stderr)
	p.session.Runner.Progress = p.show
	return p, close, nil
}

// pairedPlan makes the plan of a paired session from the locks that all
// programs have.
func (a *app) pairedPlan(f *pairedFlags, peers []peer, h host.Info) (*engine.Plan, error) {
	m := machine(h)
	catalogue, probe := commonLocks(peers, a.broken)
	spec, err := f.build(func(s engine.Spec) error {
		if err := s.Validate(m); err != nil {
			return err
		}
		_, err := engine.Select(catalogue, s.Locks)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(spec.Runners) > 0 {
		return nil, usageErr(errors.New("runners cannot be paired: --old and --new say which programs run"), hintPeer)
	}
	for _, name := range spec.Locks {
		if err := missingLock(name, peers); err != nil {
			return nil, err
		}
	}
	return f.plan(func() (*engine.Plan, error) { return engine.NewPlanOf(spec, catalogue, m, probe) })
}

// missingLock says which program lacks a lock that another one has.
func missingLock(name string, peers []peer) error {
	var without []string
	for _, p := range peers {
		if _, has := p.locks[name]; !has {
			without = append(without, p.info.File)
		}
	}
	if len(without) == 0 || len(without) == len(peers) {
		return nil // Select says the rest
	}
	return usageErr(fmt.Errorf("lock %s: there is none in %s", name, without[0]), "a pair needs the lock in every program; see: PROGRAM list locks")
}

// ab is the verb.
func (a *app) ab(ctx context.Context, f *pairedFlags, o runOptions, c compareFlags) (err error) {
	format, err := render.Comparison(o.format)
	if err != nil {
		return badFormat(o.format, render.ComparisonNames()...)
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	p, close, err := a.openPairing(ctx, f, o, nil, func(*engine.Plan) error { return nil })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, close()) }()
	reps := p.session.Plan.Spec.Reps
	if err := p.session.Begin(reps, &p.sum); err != nil {
		return &runtimeError{err}
	}
	for n := 0; n < reps && ctx.Err() == nil; n++ {
		if err := p.session.Round(ctx, n, p.session.Plan.Cells, &p.sum); err != nil {
			return &runtimeError{err}
		}
	}
	if err := p.session.End(ctx, &p.sum); err != nil {
		return &runtimeError{err}
	}
	p.show.finish()
	a.gone(p.session.Runner)
	a.conclude(p.sum)
	if p.sum.Interrupted && p.sum.Done == 0 {
		return nil // there is nothing to compare
	}
	return a.printPaired(p.sink.builder.Report().Runs[0], format, opts)
}

// printPaired prints what pairs say, if they say anything.
func (a *app) printPaired(run *results.RunReport, format render.ComparisonFormat, o compare.Options) error {
	cmp, err := compare.Paired(run, o)
	if err != nil {
		return usageErr(err, "see: lockbench ab --help")
	}
	if err := format.Write(a.env.Stdout, cmp); err != nil {
		return &runtimeError{fmt.Errorf("print the comparison: %w", err)}
	}
	return nil
}
