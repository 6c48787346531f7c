// Package lockbench is the whole program as a function, for programs of your
// own that measure locks which this project does not know:
//
//	func main() { os.Exit(lockbench.Main(mylock.Info)) }
//
// See docs/ADDING_A_LOCK.md.
package lockbench

import (
	"os"

	"lockbench/internal/cli"
	"lockbench/lock"
)

// Main runs lockbench with the process's arguments and streams, the built-in
// locks and extra ones, and returns the exit code (see internal/exitcode). It
// panics on an extra lock whose Info is invalid or whose name is taken: that
// is a bug of the program.
func Main(extra ...lock.Info) int {
	return cli.Run(cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Exit: os.Exit, Extra: extra,
	})
}
