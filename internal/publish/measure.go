package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lockbench/internal/exitcode"
)

// measure runs the matrix, and publishes the measurement if it is complete.
func measure(ctx context.Context, o options, s *site, stdout, stderr io.Writer) error {
	// All that can be wrong before minutes of measuring.
	if st, err := os.Stat(o.program); err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
		return fail(exitcode.Usage, "make build", "-program %s: there is no such program", o.program)
	}
	program, err := filepath.Abs(o.program) // without a slash it would be looked for in PATH
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return fail(exitcode.Usage, "-out must be a directory that can be written", "make the directory: %w", err)
	}
	older, err := s.hosts()
	if err != nil {
		return err
	}
	if _, err := s.pages(older, ""); err != nil {
		return err
	}
	return s.stage(func(fresh string) error {
		if err := copyFile(filepath.Join(fresh, matrixName), o.matrix); err != nil {
			return fail(exitcode.Usage, "-matrix is a file for lockbench run -f", "read the matrix: %w", err)
		}
		raw := filepath.Join(fresh, rawName)
		if err := runLockbench(ctx, program, stderr, "run", "-f", o.matrix, "--out", raw, "--format", "csv"); err != nil {
			return err
		}
		m, err := read(fresh)
		if err != nil {
			return fmt.Errorf("nothing is published: %w", err)
		}
		// The excerpt is made before anything is replaced: it may not be possible.
		if _, err := s.pages([]*measurement{m}, m.host); err != nil {
			return fmt.Errorf("nothing is published: %w", err)
		}
		if err := s.install(m, fresh); err != nil {
			return err
		}
		all, err := s.hosts()
		if err != nil {
			return err
		}
		if err := s.writePages(all, m.host); err != nil {
			return err
		}
		if m.run.Run.Program.Dirty {
			fmt.Fprintln(stderr, "publish: warning: the program was built with uncommitted changes; its version says so")
		}
		_, err = fmt.Fprintf(stdout, "published %s: %d cells, %d files\n", filepath.Join(s.out, m.host), len(m.run.Cells()), len(m.files)+2)
		return err
	})
}

// patience is how long an interrupted run may take to stop in order.
const patience = 30 * time.Second

// runLockbench runs the program; what it says on the way goes to the user. An
// interrupt lets it stop in order. Its table is not needed: it is made of the
// records.
func runLockbench(ctx context.Context, program string, stderr io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	if ctx.Err() != nil {
		return fail(exitcode.Interrupted, "", "interrupted: nothing is published")
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code := exit.ExitCode()
		hint := "what it found is above; run the matrix with lockbench run -f to see the cells"
		switch {
		case code == exitcode.Interrupted:
			hint = ""
		case code == exitcode.Usage:
			hint = "see: lockbench plan -f"
		case code < 1: // killed
			code = exitcode.Runtime
		}
		return fail(code, hint, "nothing is published: lockbench run ended with %s", exit)
	}
	if err != nil {
		return fmt.Errorf("run lockbench: %w", err)
	}
	return nil
}
