package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/engine"
	"lockbench/internal/exitcode"
	"lockbench/internal/near"
	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/gate"
	"lockbench/results/render"
)

func (a *app) gateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gate --rules FILE (--old PROGRAM --new PROGRAM | SESSION | OLD NEW | CHAOS)",
		Short: "hold a new build, or what faults did, against rules: pass, fail or inconclusive",
		Long: "Decides by rules whether a new build may be released. A rule allows a change in the bad direction, or sets a\n" +
			"limit, for a metric of the cells that it matches. It fails when the interval of what was measured lies beyond\n" +
			"that, passes when it lies within, and is inconclusive otherwise: no samples, or too few, are never a pass.\n" +
			"alpha is the probability of any false verdict of the whole gate. Violations and hangs of the new side always\n" +
			"fail.\n\n" +
			"With --old and --new it measures pairs of both builds, as lockbench ab does, until every rule is decided or the\n" +
			"budget is used up: the way to gate on shared machines. It looks at 16, 32, 64, 128 ... pairs of a cell, and no more\n" +
			"often. SESSION is what that, or lockbench ab, wrote with --out: the same looks give the same verdict. OLD and NEW are\n" +
			"files or directories of lockbench run --out; they are inconclusive unless the hosts are alike and the controls\n" +
			"null, mutex and coherence_ns agree, and judged by an interval that is widened by the drift which those leave\n" +
			"possible.\n\n" +
			"A file of rules:\n\n" +
			"  alpha: 0.01                    # of the whole gate\n" +
			"  rules:\n" +
			"    - lock: mcs*, ticket         # patterns, default all\n" +
			"      workload: moderate\n" +
			"      workers: 4\n" +
			"      metric: throughput_ops_s   # see: lockbench list metrics\n" +
			"      max-regression: 5%         # in the bad direction, which the metric knows\n" +
			"    - lock: mutex\n" +
			"      metric: acquire_p99_ns\n" +
			"      limit: 50us                # of the new side\n\n" +
			"CHAOS is what lockbench chaos wrote with --out. Its rules are demands on verdicts, in a file of their own:\n\n" +
			"  chaos:\n" +
			"    - fault: holder-kill         # patterns, default all; see: lockbench list faults\n" +
			"      lock: etcd\n" +
			"      policy: careful\n" +
			"      verdict: safe              # or a list: [safe, safe-with-fence]\n" +
			"      recovery_max: 1.3 x TTL    # or 2500ms, or 1 x bound (of theory); recovery_p50 is the median's\n" +
			"      min_rounds: 10\n\n" +
			"What is unknown, skipped or not there never passes. Worse than expected is always a violation, and a failed control\n" +
			"leaves everything inconclusive.\n\n" +
			"Exit codes: 0 pass, 1 runtime error, 2 usage, 3 a violation or a hang of the new side, 4 failed, 5 inconclusive, 130\n" +
			"interrupted; 3 beats 4 beats 5.",
		Example: "  lockbench gate --rules rules.yaml --old ./lockbench-old --new ./lockbench-new --lock 'mcs*' --budget 20m\n" +
			"  lockbench gate --rules rules.yaml session.jsonl\n" +
			"  lockbench gate --rules rules.yaml old.jsonl new.jsonl\n" +
			"  lockbench gate --rules demands.yaml chaos.jsonl\n" +
			"  lockbench gate --rules rules.yaml session.jsonl --format github --out-format markdown=summary.md --out-format junit=gate.xml",
	}
	var o gateOptions
	paired := a.addPairedFlags(cmd, engine.Default())
	live := flagNames(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.budget, "budget", gateBudget, "with --old and --new: pairs a cell at most, or a time such as 20m, converted by the plan's estimate")
	o.run.addOutput(cmd)
	live = append(live, "budget", "out", "progress", "label")
	fs.Lookup("out").Usage = "with --old and --new: write all records to this file, JSON lines"
	fs.Lookup("force").Usage = "let --out and --out-format replace existing files"
	if err := fs.MarkHidden("reps"); err != nil {
		panic(err) // addSpecFlags has it
	}
	fs.StringVar(&o.rules, "rules", "", "YAML file of rules, required")
	fs.StringVar(&o.format, "format", "table", "what to print: "+strings.Join(render.GateNames(), ", "))
	fs.StringArrayVar(&o.outs, "out-format", nil, "FORMAT=FILE: write the verdict to a file as well; may be repeated")
	completeWords(cmd, "format", render.GateNames()...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(paired.old)+len(paired.new) > 0 {
			if len(args) > 0 {
				return fmt.Errorf("either programs or files: --old and --new are given, and %s", args[0])
			}
			if cmd.Flags().Changed("reps") {
				return errors.New("--reps does not go with a gate: it measures as many pairs as it needs, up to --budget")
			}
			return nil
		}
		if n := len(args); n < 1 || n > 2 {
			return fmt.Errorf("gate what? %d files are given, want --old and --new PROGRAM, or a paired session, or OLD and NEW", n)
		}
		for _, name := range live {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s goes with --old and --new PROGRAM: files are measured already", name)
			}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.run.outGiven = cmd.Flags().Changed("out")
		return a.gate(cmd.Context(), o, paired, args)
	}
	return cmd
}

type gateOptions struct {
	rules, format, budget string
	outs                  []string
	run                   runOptions
}

// gate is the verb.
func (a *app) gate(ctx context.Context, o gateOptions, f *pairedFlags, args []string) error {
	budget, err := parseBudget(o.budget)
	if err != nil {
		return err
	}
	out, err := a.openGate(o, slices.Concat(args, f.inputs()))
	if err != nil {
		return err
	}
	defer out.close()
	if len(out.rules.Chaos) > 0 {
		return a.gateChaos(out, args)
	}
	var res *gate.Result
	if len(args) > 0 {
		res, err = gateFiles(out.rules, args)
	} else {
		res, err = a.gateLive(ctx, f, o.run, out, budget)
	}
	var run *runtimeError
	var usage *engine.UsageError
	switch {
	case errors.As(err, &run), errors.As(err, &usage):
		return err
	case err != nil:
		return usageErr(err, "see: lockbench gate --help")
	case res == nil:
		return nil
	}
	interrupted := a.code == exitcode.Interrupted
	err = out.finish(a, res.Verdict, func(f render.GateFormat, w io.Writer) error { return f.Write(w, res) })
	if interrupted && a.code != exitcode.Safety {
		a.code = exitcode.Interrupted
	}
	return err
}

// gateFiles decides about files.
func gateFiles(rules *gate.Rules, args []string) (*gate.Result, error) {
	old, err := compare.Load(args[0], results.SideOld)
	if err != nil {
		return nil, err
	}
	if len(args) == 1 {
		return gate.Replay(rules, old.Report)
	}
	new, err := compare.Load(args[1], results.SideNew)
	if err != nil {
		return nil, err
	}
	return gate.Files(rules, old, new)
}

// gateChaos decides about the verdicts of faults in one file.
func (a *app) gateChaos(out *gateOutput, args []string) error {
	if len(args) != 1 {
		return usageErr(fmt.Errorf("%s has demands on chaos: want one file that lockbench chaos --out wrote", results.Printable(out.rules.File)),
			"lockbench gate --rules "+results.Printable(out.rules.File)+" chaos.jsonl")
	}
	b := results.NewBuilder(results.SummariesOnly())
	if err := b.AddFile(args[0]); err != nil {
		return usageErr(err, "lockbench gate reads files that lockbench chaos --out wrote")
	}
	res, err := gate.Chaos(out.rules, b.Report())
	if err != nil {
		return usageErr(err, "see: lockbench gate --help")
	}
	return out.finish(a, res.Verdict, func(f render.GateFormat, w io.Writer) error { return f.Chaos(w, res) })
}

// gateOutput is where a verdict goes. It is opened before anything is
// measured, so that a bad name costs nothing.
type gateOutput struct {
	rules  *gate.Rules
	format render.GateFormat
	files  []gateFile
}

type gateFile struct {
	format render.GateFormat
	name   string
	*outFile
	done bool
}

// names are the files of rules, first, and of verdicts.
func (o *gateOutput) names() []string {
	names := []string{o.rules.File}
	for _, f := range o.files {
		names = append(names, f.name)
	}
	return names
}

// openGate reads the rules and opens the files of a verdict, which may be none of
// inputs. Nothing is left behind on an error.
func (a *app) openGate(o gateOptions, inputs []string) (*gateOutput, error) {
	out := &gateOutput{}
	var err error
	if out.format, err = lookupGateFormat("--format", o.format); err != nil {
		return nil, err
	}
	if o.rules == "" {
		return nil, usageErr(errors.New("no rules: --rules FILE is required"), "see: lockbench gate --help, which shows a file of rules")
	}
	if out.rules, err = readRules(o.rules); err != nil {
		return nil, err
	}
	for _, text := range o.outs {
		f, err := openGateFile(text, o.run.force, inputs, out.names())
		if err != nil {
			out.close()
			return nil, err
		}
		out.files = append(out.files, f)
	}
	return out, nil
}

func lookupGateFormat(flag, name string) (render.GateFormat, error) {
	f, err := render.LookupGateFormat(name)
	if err == nil {
		return f, nil
	}
	hint := "formats: " + strings.Join(render.GateNames(), ", ")
	if n := near.Names(name, render.GateNames()); len(n) > 0 {
		hint = "did you mean " + n[0] + "? " + hint
	}
	return f, usageErr(fmt.Errorf("%s: %w", flag, err), hint)
}

func readRules(path string) (*gate.Rules, error) {
	const hint = "--rules wants a YAML file, see: lockbench gate --help"
	f, err := os.Open(path)
	if err != nil {
		return nil, usageErr(fmt.Errorf("read rules: %w", err), hint)
	}
	defer f.Close() // read only
	b, err := io.ReadAll(io.LimitReader(f, gate.MaxRulesFile+1))
	if err != nil {
		return nil, usageErr(fmt.Errorf("read rules: %w", err), hint)
	}
	rules, err := gate.ParseRules(path, b, faultNames()...)
	if err != nil {
		return nil, usageErr(err, hint)
	}
	return rules, nil
}

func openGateFile(text string, force bool, inputs, have []string) (gateFile, error) {
	format, name, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return gateFile{}, usageErr(fmt.Errorf("--out-format: %q: want FORMAT=FILE", text), "for instance markdown=summary.md")
	}
	f := gateFile{name: name}
	var err error
	if f.format, err = lookupGateFormat("--out-format", format); err != nil {
		return f, err
	}
	if slices.Contains(have[1:], name) {
		return f, usageErr(fmt.Errorf("--out-format: two formats for %s", name), "give each a file of its own")
	}
	f.outFile, err = openOut("--out-format", name, force, slices.Concat(inputs, have))
	return f, err
}

// finish writes a verdict everywhere and sets the exit code.
func (o *gateOutput) finish(a *app, verdict gate.Verdict, write func(render.GateFormat, io.Writer) error) error {
	if err := write(o.format, a.env.Stdout); err != nil {
		return &runtimeError{fmt.Errorf("print the verdict: %w", err)}
	}
	for i := range o.files {
		f := &o.files[i]
		f.done = true
		if err := f.write(func(w io.Writer) error { return write(f.format, w) }); err != nil {
			return &runtimeError{fmt.Errorf("write the verdict to %s: %w", o.files[i].name, err)}
		}
	}
	switch verdict {
	case gate.Pass:
	case gate.Violation:
		a.code = exitcode.Safety
	case gate.Fail:
		a.code = exitcode.Gate
	default:
		a.code = exitcode.Inconclusive
	}
	return nil
}

// close closes what no verdict was written to; a file that was made for one is
// removed: empty, it would say nothing.
func (o *gateOutput) close() {
	for _, f := range o.files {
		if !f.done {
			f.abandon()
		}
	}
}
