package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockbench/internal/exitcode"
	"lockbench/internal/near"
	"lockbench/results"
	"lockbench/results/compare"
	"lockbench/results/gate"
	"lockbench/results/render"
)

func (a *app) gateCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gate --rules FILE (SESSION | OLD NEW)",
		Short: "hold a new build against rules: pass, fail or inconclusive",
		Long: "Decides by rules whether a new build may be released. A rule allows a change in the bad direction, or sets a\n" +
			"limit, for a metric of the cells that it matches. It fails when the interval of what was measured lies beyond\n" +
			"that, passes when it lies within, and is inconclusive otherwise: no samples, or too few, are never a pass.\n" +
			"alpha is the probability of any false verdict of the whole gate. Violations and hangs of the new side always\n" +
			"fail.\n\n" +
			"SESSION is what lockbench ab --out wrote: pairs of both builds, the way to gate on shared machines. OLD and NEW are\n" +
			"files or directories of lockbench run --out; they are inconclusive unless the hosts are alike and the controls\n" +
			"null, mutex and coherence_ns agree.\n\n" +
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
			"Exit codes: 0 pass, 2 usage, 3 a violation or a hang of the new side, 4 failed, 5 inconclusive; 3 beats 4 beats 5.",
		Example: "  lockbench gate --rules rules.yaml session.jsonl\n" +
			"  lockbench gate --rules rules.yaml old.jsonl new.jsonl\n" +
			"  lockbench gate --rules rules.yaml session.jsonl --format github --out-format markdown=summary.md --out-format junit=gate.xml",
	}
	var o gateOptions
	fs := cmd.Flags()
	fs.StringVar(&o.rules, "rules", "", "YAML file of rules, required")
	fs.StringVar(&o.format, "format", "table", "what to print: "+strings.Join(render.GateNames(), ", "))
	fs.StringArrayVar(&o.outs, "out-format", nil, "FORMAT=FILE: write the verdict to a file as well; may be repeated")
	fs.BoolVar(&o.force, "force", false, "let --out-format replace existing files")
	completeWords(cmd, "format", render.GateNames()...)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if n := len(args); n < 1 || n > 2 {
			return fmt.Errorf("gate what? %d files are given, want a paired session, or OLD and NEW", n)
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.gate(o, args) }
	return cmd
}

type gateOptions struct {
	rules, format string
	outs          []string
	force         bool
}

// gate is the verb on files.
func (a *app) gate(o gateOptions, args []string) error {
	out, err := a.openGate(o)
	if err != nil {
		return err
	}
	defer out.close()
	res, err := gateFiles(out.rules, args)
	if err != nil {
		return usageErr(err, "see: lockbench gate --help")
	}
	return out.finish(a, res)
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
	file   *os.File
	fresh  bool // it was made here
	done   bool
}

// openGate reads the rules and opens the files of a verdict. Nothing is left
// behind on an error.
func (a *app) openGate(o gateOptions) (*gateOutput, error) {
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
		f, err := openGateFile(text, o.force, out.files)
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
	rules, err := gate.ParseRules(path, b)
	if err != nil {
		return nil, usageErr(err, hint)
	}
	return rules, nil
}

func openGateFile(text string, force bool, have []gateFile) (gateFile, error) {
	format, name, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return gateFile{}, usageErr(fmt.Errorf("--out-format: %q: want FORMAT=FILE", text), "for instance markdown=summary.md")
	}
	f := gateFile{name: name}
	var err error
	if f.format, err = lookupGateFormat("--out-format", format); err != nil {
		return f, err
	}
	if slices.ContainsFunc(have, func(o gateFile) bool { return o.name == name }) {
		return f, usageErr(fmt.Errorf("--out-format: two formats for %s", name), "give each a file of its own")
	}
	flags := os.O_WRONLY | os.O_CREATE
	st, err := os.Stat(name)
	f.fresh = err != nil
	if regular := err != nil || st.Mode().IsRegular(); regular && !force {
		flags |= os.O_EXCL
	}
	if f.file, err = os.OpenFile(name, flags, 0o644); err != nil {
		hint := "choose a path that you can write"
		if errors.Is(err, os.ErrExist) {
			hint = "choose another name, or replace the file with --force"
		}
		return f, usageErr(fmt.Errorf("--out-format: %w", err), hint)
	}
	return f, nil
}

// finish writes a verdict everywhere and sets the exit code.
func (o *gateOutput) finish(a *app, res *gate.Result) error {
	if err := o.format.Write(a.env.Stdout, res); err != nil {
		return &runtimeError{fmt.Errorf("print the verdict: %w", err)}
	}
	for i := range o.files {
		if err := o.files[i].write(res); err != nil {
			return &runtimeError{fmt.Errorf("write the verdict to %s: %w", o.files[i].name, err)}
		}
	}
	switch res.Verdict {
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

func (f *gateFile) write(res *gate.Result) error {
	f.done = true
	// The old content goes only now that there is a new one. Pipes and devices
	// have none.
	if st, err := f.file.Stat(); err == nil && st.Mode().IsRegular() {
		if err := f.file.Truncate(0); err != nil {
			return errors.Join(err, f.file.Close())
		}
	}
	return errors.Join(f.format.Write(f.file, res), f.file.Close())
}

// close closes what no verdict was written to; a file that was made for one is
// removed: empty, it would say nothing.
func (o *gateOutput) close() {
	for _, f := range o.files {
		if f.done {
			continue
		}
		_ = f.file.Close() // nothing was written
		if f.fresh {
			_ = os.Remove(f.name)
		}
	}
}
