package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"lockbench/impls/planted"
)

// programPackage is the program under test.
const programPackage = "lockbench/internal/gatestudy/program"

// ldflags are what builds of the program differ in. -randlayout shuffles the
// order of all Go functions in the program (cmd/link, data.go, textaddress):
// which of them share sets of caches and of branch predictors. The code of a
// function, and its alignment, stay.
func ldflags(locks []string, extra map[string]uint32, layout int) string {
	flags := "-X main.extra=" + planted.Format(locks, extra)
	if layout != 0 {
		flags += fmt.Sprintf(" -randlayout=%d", layout)
	}
	return flags
}

// build makes a program, unless the directory has one that was made with the
// same flags: recordings belong to the very program that they are of.
func (st *study) build(ctx context.Context, p program) (path string, err error) {
	extra, err := st.extras(p)
	if err != nil {
		return "", err
	}
	path = filepath.Join(st.o.dir, p.name)
	if p.copyOf != "" {
		return path, copyProgram(filepath.Join(st.o.dir, p.copyOf), path)
	}
	flags := ldflags(st.o.locks, extra, p.layout)
	made := path + ".flags"
	if old, err := os.ReadFile(made); err == nil && string(old) == flags {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	st.say("building %s", p.name)
	if err := compile(ctx, path, flags); err != nil {
		return "", err
	}
	return path, os.WriteFile(made, []byte(flags), 0o644)
}

// copyProgram copies a program that was built.
func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy a program: %w", err)
	}
	return os.WriteFile(to, text, 0o755)
}

// compile is without the state of the checkout, so that equal sources make
// equal programs.
func compile(ctx context.Context, out, flags string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-pgo=off", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", out, programPackage)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, bytes.TrimSpace(text))
	}
	return nil
}

// stale reports whether the programs in the directory are older than the
// sources.
func (st *study) stale(ctx context.Context, path string) (bool, error) {
	fresh := path + ".fresh"
	defer os.Remove(fresh)
	if err := compile(ctx, fresh, ldflags(st.o.locks, nil, 0)); err != nil {
		return false, err
	}
	a, err := sum(path)
	if err != nil {
		return false, err
	}
	b, err := sum(fresh)
	return a != b, err
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // read only: nothing is lost
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
