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
		code, err := runLockbench(ctx, program, stderr, "run", "-f", o.matrix, "--out", raw, "--format", "csv")
		if err != nil {
			return err
		}
		m, err := read(fresh)
		if code != exitcode.OK || err != nil {
			return unfit(code, err, raw)
		}
		// What faults did on this machine stays, until it is run again.
		chaos := filepath.Join(s.out, m.host, chaosName)
		if _, err := os.Stat(chaos); err == nil {
			if err := copyFile(filepath.Join(fresh, chaosName), chaos); err != nil {
				return fmt.Errorf("copy the chaos of the machine: %w", err)
			}
			if err := m.addChaos(fresh); err != nil {
				return err
			}
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

// unfit says why the records that were made cannot be published, and keeps them:
// they took minutes to make. code is that of the program that measured.
func unfit(code int, why error, raw string) error {
	if why == nil {
		why = errors.New("its records are complete")
	}
	err := fmt.Errorf("nothing is published: %w", why)
	if code != exitcode.OK {
		err = fmt.Errorf("nothing is published: lockbench run ended with exit code %d: %w", code, why)
	} else {
		code = exitcode.Runtime
	}
	kept, keepErr := keep(raw)
	if keepErr != nil {
		return &failure{err, code, "the records could not be kept: " + keepErr.Error()}
	}
	return &failure{err, code, "the records are kept: lockbench report " + kept}
}

// keep copies the records to where they are in nobody's way.
func keep(raw string) (string, error) {
	f, err := os.CreateTemp("", "lockbench-publish-*.jsonl")
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), copyFile(f.Name(), raw)
}

// patience is how long an interrupted run may take to stop in order.
const patience = 30 * time.Second

// runLockbench runs the program and returns its exit code; what it says on the way
// goes to the user. An interrupt lets it stop in order, and is an error, as are
// settings that it refuses: there are no records then. Its table is not needed: it
// is made of the records.
func runLockbench(ctx context.Context, program string, stderr io.Writer, args ...string) (int, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil || errors.As(err, &exit) && exit.ExitCode() == exitcode.Interrupted:
		return 0, fail(exitcode.Interrupted, "", "interrupted: nothing is published")
	case err == nil:
		return exitcode.OK, nil
	case exit == nil:
		return 0, fmt.Errorf("run lockbench: %w", err)
	case exit.ExitCode() == exitcode.Usage:
		return 0, fail(exitcode.Usage, "see: lockbench plan -f", "nothing is published: lockbench run refuses the matrix")
	}
	return max(exit.ExitCode(), exitcode.Runtime), nil // -1 when it was killed
}
