package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/internal/engine"
	"lockbench/internal/exitcode"
	"lockbench/internal/host"
	"lockbench/internal/watchdog"
	"lockbench/results"
	"lockbench/results/render"
)

// chaosClientVerb and chaosLockVerb make the program a child of a chaos round: a client process of a
// distributed lock, or a process with an in-process lock.
const (
	chaosClientVerb = "chaos-client"
	chaosLockVerb   = "chaos-lock"
)

// chaosFlags are those of chaos and of its plan.
type chaosFlags struct {
	preset                              string
	locks, faults, policies, topologies []string
	given, images, set                  []string
	rounds, parallel, clusters          int
	seed                                uint64
	ttl                                 time.Duration
	counter                             string
	cmd                                 *cobra.Command
}

func (a *app) addChaosFlags(cmd *cobra.Command) *chaosFlags {
	f := &chaosFlags{cmd: cmd}
	fs := cmd.Flags()
	fs.StringVar(&f.preset, "preset", "", "quick (the default: Redis alone), ci (every service, few rounds) or all (everything)")
	fs.StringSliceVar(&f.locks, "lock", nil, "locks, by name or pattern; distributed is all of these, all is every lock")
	fs.StringSliceVar(&f.faults, "fault", nil, "faults, by name or pattern, or all; see: lockbench list faults")
	fs.StringSliceVar(&f.policies, "policy", nil, "what a section checks: careful, careless, guarded (default: all that a lock can have)")
	fs.StringSliceVar(&f.topologies, "topology", nil, "ways to set up the servers: "+strings.Join(topologyNames(), ", "))
	fs.IntVar(&f.rounds, "rounds", chaos.DefaultRounds, "rounds that must count, a cell; 10 good ones leave at most 26 % of bad ones, 59 at most 5 %")
	fs.Uint64Var(&f.seed, "seed", 1, "of all random choices: when a fault comes, which server it hits")
	fs.IntVar(&f.parallel, "parallel", chaos.DefaultParallel(), "rounds at a time, each of three client processes, of Redlock one for each server; 6 a processor, at most 24, unless given")
	fs.IntVar(&f.clusters, "clusters", chaos.DefaultClusters, "clusters at a time, of ZooKeeper one for each server")
	fs.DurationVar(&f.ttl, "ttl", 0, "TTL of leases (default: Redis and Redlock 1s, etcd and ZooKeeper 2s)")
	fs.StringArrayVar(&f.set, "set", nil, "FAULT.PARAMETER=NUMBER, for instance holder-pause.pause_ms=5000; may be repeated")
	fs.StringArrayVar(&f.given, "backend", nil, "SERVICE=URL of a server of your own, which gets faults on clients only; may be repeated")
	fs.StringArrayVar(&f.images, "image", nil, "KEY=NAME, the image of redis, etcd, zookeeper, postgres or tools; may be repeated")
	completeWords(cmd, "preset", chaosPresets...)
	completeList(cmd, "fault", faultNames())
	completeList(cmd, "policy", chaosPolicies)
	completeList(cmd, "topology", topologyNames())
	return f
}

func (a *app) chaosCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "inject faults, and see which locks let two in, what that damages, and when the next one gets in",
		Long: "Runs the same scripted faults over every chosen lock: the holder's process is killed, stopped, cut off from its\n" +
			"servers; servers are killed, paused, started without their data. Each cell of the printed matrix is a lock under a\n" +
			"fault, for careful and for careless holders, with the store that a fencing token protects beside one that it\n" +
			"does not. Verdicts are compared with what theory expects. Controls with known faults run along; if they are not\n" +
			"caught, no verdict counts. Without flags: Redis alone, in containers, under 2 minutes.\n\n" +
			"Faults reach only processes, containers and connections of this run. Servers given by --backend get faults on clients only.\n\n" +
			"Exit codes: 0 all as expected, 1 runtime error, 2 usage, 3 something is worse than expected, 5 unknown cells, failed\n" +
			"controls, or a cell that is expected to be unsafe came out safe, 130 interrupted.",
		Example: "  lockbench chaos\n" +
			"  lockbench chaos --lock redis,etcd --fault holder-pause,holder-kill --rounds 20\n" +
			"  lockbench chaos --preset ci --out chaos.jsonl\n" +
			"  lockbench chaos --lock all --fault all --out chaos.jsonl\n" +
			"  lockbench plan chaos --preset ci",
		Args: noArgs,
	}
	f := a.addChaosFlags(cmd)
	var o runOptions
	o.addOutput(cmd)
	cmd.Flags().StringVar(&o.format, "format", "table", "what to print: "+formatNames())
	cmd.Flags().StringVar(&f.counter, "counterexamples", "", "write a timeline (text), and where linearizability was judged a page of Porcupine's, of a bad round of each cell into this directory")
	completeWords(cmd, "format", render.Names()...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.outGiven = cmd.Flags().Changed("out")
		return a.chaos(cmd.Context(), f, o)
	}
	return cmd
}

// chaosPlanCmd is plan's word for chaos.
func (a *app) chaosPlanCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "chaos", Short: "show what chaos would run, what it would skip and how long it would take",
		Long: "Takes the flags of chaos. Runs nothing.", Args: noArgs}
	f := a.addChaosFlags(cmd)
	format := cmd.Flags().String("format", "table", "table or json")
	completeWords(cmd, "format", "table", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return badFormat(*format, "table", "json")
		}
		p, err := a.chaosPlan(f)
		if err != nil {
			return err
		}
		return p.print(a.env.Stdout, *format)
	}
	return cmd
}

// chaos is the verb. Everything that can be wrong is found before anything is started.
func (a *app) chaos(ctx context.Context, f *chaosFlags, o runOptions) (err error) {
	format, err := lookupFormat(o.format)
	if err != nil {
		return err
	}
	if err := checkProgress(o.progress); err != nil {
		return err
	}
	labels, err := parseLabels(o.labels)
	if err != nil {
		return err
	}
	p, err := a.chaosPlan(f)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return &runtimeError{fmt.Errorf("find this program's own file: %w", err)}
	}
	if f.counter != "" {
		if err := os.MkdirAll(f.counter, 0o755); err != nil {
			return usageErr(fmt.Errorf("--counterexamples: %w", err), "choose a directory that you can write")
		}
	}
	sink := &recorder{builder: results.NewBuilder(histograms(format)...)}
	closeOut, err := sink.open(o, []string{self})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	// Before the first container or child: what comes is removed even if we are killed.
	dog, err := watchdog.Start([]string{self, watchdogVerb}, watchdog.Options{})
	if err != nil {
		return &runtimeError{err}
	}
	defer func() {
		if derr := dog.Close(); derr != nil {
			err = errors.Join(err, &runtimeError{fmt.Errorf("remove what the run has made: %w", derr)})
		}
	}()
	h := host.Collect()
	head := chaosHeader(p, h, labels)
	if err := sink.header(head); err != nil {
		return &runtimeError{err}
	}
	show := newChaosProgress(o.progress, a.env.Stderr)
	log := func(line string) { show.line("lockbench: " + results.Printable(line)) }
	if p.docker {
		if gone, err := watchdog.Sweep(ctx, ""); err == nil && len(gone) > 0 {
			log("removed what dead runs had left: " + strings.Join(gone, ", "))
		}
	}
	var sinkErr error
	keep := func(err error) {
		if err != nil && sinkErr == nil {
			sinkErr = err
		}
	}
	opts := p.options
	opts.RunID = head.RunID
	opts.ClientArgv, opts.LockArgv = []string{self, chaosClientVerb}, []string{self, chaosLockVerb}
	opts.Start, opts.Hold = engine.StartChild, dog.HoldProcess
	opts.HoldPath = func(path string) (func(), error) { return dog.Hold(watchdog.KindPath, path) }
	opts.Open = func(ctx context.Context, topology string, clock bool) (*backends.Cluster, error) {
		bo := backends.Options{RunID: head.RunID, Given: p.urls, Images: p.images, Network: backends.NetworkBridge, Clock: clock,
			Owner: dog.Owner().Labels(), Register: dog.Hold, Log: log}
		return backends.Open(ctx, topology, bo)
	}
	opts.Verdict = func(v results.ChaosVerdict) { show.verdict(&v); keep(sink.Verdict(&v)) }
	opts.Event = func(e results.Event) { keep(sink.Event(e)) }
	opts.Log, opts.Progress, opts.CounterDir = log, show.progress, f.counter
	verdicts, err := chaos.Run(ctx, opts)
	show.finish()
	interrupted := ctx.Err() != nil
	if interrupted {
		keep(sink.Event(results.Event{Type: results.TypeEvent, Kind: results.EventInterrupted, Text: "interrupted"}))
		err = nil
	}
	if err := errors.Join(err, sinkErr); err != nil {
		return &runtimeError{err}
	}
	if err := format.Write(a.env.Stdout, sink.builder.Report()); err != nil {
		return &runtimeError{fmt.Errorf("print the report: %w", err)}
	}
	a.concludeChaos(verdicts, interrupted)
	return nil
}

// Verdict keeps a verdict of chaos.
func (r *recorder) Verdict(v *results.ChaosVerdict) error {
	return r.put(v, results.Record{Type: results.TypeVerdict, Verdict: v})
}

// concludeChaos sets the exit code and says on stderr what it is about.
func (a *app) concludeChaos(verdicts []results.ChaosVerdict, interrupted bool) {
	sum := chaos.Conclude(verdicts)
	say := func(format string, args ...any) { fmt.Fprintf(a.env.Stderr, "lockbench: "+format+"\n", args...) }
	if len(sum.FailedControls) > 0 {
		say("error: controls failed, no verdict counts: %s", strings.Join(sum.FailedControls, ", "))
	}
	if len(sum.Worse) > 0 {
		say("error: worse than expected: %s", strings.Join(sum.Worse, ", "))
	}
	if len(sum.Better) > 0 {
		say("note: expected to be worse: %s", strings.Join(sum.Better, ", "))
	}
	if len(sum.Unknown) > 0 {
		say("note: unknown: %s", strings.Join(sum.Unknown, ", "))
	}
	switch {
	case len(sum.Worse) > 0 && len(sum.FailedControls) == 0:
		a.code = exitcode.Safety
	case interrupted:
		a.code = exitcode.Interrupted
		say("interrupted: %d cells have a verdict", len(verdicts))
	case len(sum.FailedControls)+len(sum.Better)+len(sum.Unknown) > 0:
		a.code = exitcode.Inconclusive
	case sum.Ran == 0:
		a.code = exitcode.Runtime
		say("error: no cell could be run; see the reasons above, and: lockbench env")
	}
}

// chaosHeader is the first record of a run.
func chaosHeader(p *chaosPlan, h host.Info, labels map[string]string) *results.Run {
	now := time.Now().UTC()
	run := &results.Run{
		Type: results.TypeRun, Schema: results.SchemaMajor, RunID: runID(now, p.options.Seed),
		Started: now.Format(time.RFC3339), Seed: p.options.Seed, Spec: p.spec, Host: h, Go: goInfo(), Program: program(),
		Clock:  results.Clock{Kind: "monotonic", HZ: 1e9},
		Labels: labels, CellsPlanned: len(p.options.Cells), Reps: p.options.Rounds,
	}
	for _, d := range h.Doubts() {
		run.Doubts = append(run.Doubts, d.What)
	}
	return run
}

func faultNames() []string {
	var out []string
	for _, f := range chaos.Faults() {
		out = append(out, f.Name)
	}
	return out
}

var chaosPolicies = []string{chaos.Careful, chaos.Careless, chaos.Protected}

// has reports whether a flag was given.
func (f *chaosFlags) has(name string) bool { return f.cmd.Flags().Changed(name) }

func contains(list []string, s string) bool { return slices.Contains(list, s) }
