// Package cli is the command line of lockbench, one file a verb. Nothing in it
// touches the process: arguments, streams and the exit function are in [Env].
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/chaos/actor"
	"lockbench/chaos/inproc"
	"lockbench/impls"
	"lockbench/internal/cell"
	"lockbench/internal/engine"
	"lockbench/internal/exitcode"
	"lockbench/internal/near"
	"lockbench/internal/watchdog"
	"lockbench/lock"
	"lockbench/results"
)

// Env is the surroundings of a run of the program.
type Env struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Exit ends the process at once. It is called on a second interrupt, and
	// in a child whose parent died.
	Exit  func(int)
	Extra []lock.Info // locks of a user's own program
}

// cellVerb makes the program a child that runs one repetition and speaks the
// cell protocol. It is for lockbench itself.
const cellVerb = "cell"

// watchdogVerb makes the program the watchdog of a run with servers.
const watchdogVerb = "watchdog"

// app is one run of the program.
type app struct {
	env       Env
	catalogue []lock.Info // listed locks
	broken    []lock.Info
	code      int // exit code of the verb, if it did not fail
}

// Run runs the program and returns its exit code.
func Run(env Env) int {
	a := &app{env: env, broken: impls.Broken()}
	a.catalogue = impls.Merge(impls.Catalog(), env.Extra)
	impls.Merge(a.catalogue, a.broken)
	if len(env.Args) == 1 && env.Args[0] == cellVerb {
		// Before anything else: what comes here is part of every repetition.
		return cell.Main(a.lookup, version(), env.Stdin, env.Stdout, env.Exit)
	}
	if len(env.Args) == 1 && env.Args[0] == watchdogVerb {
		return watchdog.Main(env.Stdin, env.Stdout, env.Stderr)
	}
	if len(env.Args) == 1 && env.Args[0] == chaosClientVerb {
		return actor.Main(a.lookup, env.Stdin, env.Stdout, env.Exit)
	}
	if len(env.Args) == 1 && env.Args[0] == chaosLockVerb {
		return inproc.Main(a.lookup, env.Stdin, env.Stdout, env.Exit)
	}
	ctx, stop := a.signals()
	defer stop()
	root := a.root()
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.code
	}
	return a.fail(err)
}

// signals returns a context that ends with the first SIGINT or SIGTERM; the
// second ends the process.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-ch; !ok {
			return
		}
		fmt.Fprintln(a.env.Stderr, "lockbench: interrupted: stopping (once more to quit at once)")
		cancel()
		if _, ok := <-ch; ok {
			a.env.Exit(exitcode.Interrupted)
		}
	}()
	return ctx, func() { signal.Stop(ch); close(ch); cancel() }
}

func (a *app) lookup(name string) (lock.Info, error) {
	for _, i := range slices.Concat(a.catalogue, a.broken) {
		if i.Name == name {
			return i, nil
		}
	}
	return lock.Info{}, &near.UnknownError{What: "lock", Name: name}
}

// hinted is an error that knows what to do about it.
type hinted interface{ Hint() string }

// fail prints an error with its hint and returns the exit code.
func (a *app) fail(err error) int {
	code, hint := exitcode.Runtime, ""
	var usage *engine.UsageError
	var h hinted
	switch {
	case errors.As(err, &usage):
		code, hint = exitcode.Usage, usage.Hint
	case errors.As(err, &h):
		code, hint = exitcode.Usage, h.Hint()
	}
	var run *runtimeError
	if errors.As(err, &run) {
		code = exitcode.Runtime
	}
	fmt.Fprintf(a.env.Stderr, "lockbench: error: %s\n", results.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if hint != "" {
		fmt.Fprintf(a.env.Stderr, "lockbench: hint: %s\n", results.Printable(hint))
	}
	return code
}

// runtimeError is a failure that the user's input is not to blame for, even if
// its cause has a hint.
type runtimeError struct{ error }

func (e *runtimeError) Unwrap() error { return e.error }

// root is the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockbench",
		Short: "measure locks: speed, fairness, correctness",
		Long: "lockbench measures lock implementations on this machine: how fast, how fair, at what cost, and whether\n" +
			"they exclude at all. Each repetition runs in a fresh process; every figure comes with its doubts.",
		Example:       "  lockbench run\n  lockbench run --lock 'mcs*,mutex' --workload moderate --workers 1:4 --out run.jsonl\n  lockbench report run.jsonl --format markdown",
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.env.Stdin)
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	root.Version = version()
	root.SetVersionTemplate("lockbench {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &engine.UsageError{Err: err, Hint: flagHint(cmd, err)}
	})
	root.AddCommand(
		a.runCmd(),
		a.chaosCmd(),
		a.planCmd(),
		a.listCmd(),
		a.reportCmd(),
		a.abCmd(),
		a.gateCmd(),
		a.compareCmd(),
		a.backendsCmd(),
		a.envCmd(),
		a.versionCmd(),
	)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	wrapArgs(root)
	return root
}

// flagHint names the flags that an unknown one may have meant.
func flagHint(cmd *cobra.Command, err error) string {
	hint := "see: " + cmd.CommandPath() + " --help"
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return hint
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	var did []string
	for _, n := range near.Names(unknown.GetSpecifiedName(), names) {
		did = append(did, "--"+n)
	}
	if len(did) == 0 {
		return hint
	}
	return "did you mean " + strings.Join(did, ", ") + "? " + hint
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments: %q", cmd.Name(), args[0])
	}
	return nil
}

// badFormat is the error about a value of --format.
func badFormat(got string, want ...string) error {
	text := strings.Join(want, " or ")
	hint := "formats: " + strings.Join(want, ", ")
	if n := near.Names(got, want); len(n) > 0 {
		hint = "did you mean " + n[0] + "? " + hint
	}
	return usageErr(fmt.Errorf("--format: %q: want %s", got, text), hint)
}

// wrapArgs turns cobra's errors about arguments into usage errors.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				hint := "see: " + c.CommandPath() + " --help"
				if len(args) > 0 && c.HasSubCommands() {
					var names []string
					for _, s := range c.Commands() {
						names = append(names, s.Name())
					}
					if n := near.Names(args[0], names); len(n) > 0 {
						hint = fmt.Sprintf("did you mean %s? %s", n[0], hint)
					}
				}
				return &engine.UsageError{Err: err, Hint: hint}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
}
