// Expectdoc checks the expectations of lockbench chaos and prints them into their document.
//
// Usage:
//
//	go run ./chaos/expect/expectdoc [-check]
//
// It runs at the root of the project. It fails if chaos/expect.yaml misses a cell of the catalogue, or says what is
// about none, or points to a heading that does not exist; else it writes the tables between the markers of
// docs/CHAOS.md. With -check it writes nothing.
//
// Exit codes: 0 ok, 1 the expectations are wrong or the document is out of date (-check), 2 usage.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lockbench/backends"
	"lockbench/chaos"
	"lockbench/chaos/expect"
	"lockbench/impls"
)

func main() { os.Exit(run(os.Args[1:], ".", os.Stderr)) }

// document is where the tables stand, below the project's root.
const document = "docs/CHAOS.md"

// run is main with its surroundings as arguments; root is the project's.
func run(args []string, root string, stderr io.Writer) int {
	fs := flag.NewFlagSet("expectdoc", flag.ContinueOnError)
	fs.SetOutput(stderr)
	check := fs.Bool("check", false, "write nothing; exit 1 if the document is not up to date")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "expectdoc: error: unexpected argument %q\n", fs.Arg(0))
		return 2
	}
	if err := update(root, *check); err != nil {
		fmt.Fprintln(stderr, "expectdoc: error:", err)
		var hint interface{ Hint() string }
		if errors.As(err, &hint) && hint.Hint() != "" {
			fmt.Fprintln(stderr, "expectdoc: hint:", hint.Hint())
		}
		return 1
	}
	return 0
}

// update checks all, and then the document, or writes it.
func update(root string, check bool) error {
	subjects, faults := subjects(impls.Catalog(), chaos.Faults(), backends.Topologies())
	t, err := expect.Load(chaos.ExpectYAML)
	if err != nil {
		return fmt.Errorf("chaos/expect.yaml: %w", err)
	}
	errs := t.Complete(subjects)
	for _, see := range t.Sees() {
		errs = append(errs, heading(root, see))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("chaos/expect.yaml: %w", err)
	}
	var tables bytes.Buffer
	if err := t.Markdown(&tables, subjects, faults); err != nil {
		return err
	}
	path := filepath.Join(root, document)
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	now, err := marks.Splice(old, tables.String())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", document, err)
	case bytes.Equal(old, now):
		return nil
	case check:
		return fmt.Errorf("%s is not up to date with chaos/expect.yaml: run go run ./chaos/expect/expectdoc", document)
	}
	if err := os.WriteFile(path, now, 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}
