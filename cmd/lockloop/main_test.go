package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyHandles gives the test a package folder of its own.
func copyHandles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile("testdata/handles/handles.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "handles.go"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGenerate(t *testing.T) {
	dir := copyHandles(t)
	var stderr bytes.Buffer
	if code := run([]string{"-type", "plain, full,halfRead", "-build", "linux"}, dir, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	b, err := os.ReadFile(filepath.Join(dir, "loop_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	src := string(b)
	parts := strings.Split(src, "var _ lock.Batcher = ")
	if len(parts) != 4 {
		t.Fatalf("%d types in the output, want 3", len(parts)-1)
	}
	for _, c := range []struct {
		part string
		has  map[string]bool
	}{
		{parts[0], map[string]bool{"DO NOT EDIT": true, "//go:build linux": true, "package handles": true}},
		{parts[1], map[string]bool{"(*plain)": true, "OpTry": false, "OpTimed": false, "RLock": false}},
		{parts[2], map[string]bool{"(*full)": true, "h.TryLock()": true, "h.LockFor(": true, "h.RLock()": true, "h.RUnlock()": true}},
		{parts[3], map[string]bool{"(*halfRead)": true, "RLock": false}},
	} {
		for text, want := range c.has {
			if got := strings.Contains(c.part, text); got != want {
				t.Errorf("%q in the output: %v, want %v, in\n%s", text, got, want, c.part)
			}
		}
	}
	if code := run([]string{"-type", "plain,full,halfRead", "-build", "linux", "-check"}, dir, &stderr); code != 0 {
		t.Errorf("-check of a fresh output: exit %d: %s", code, &stderr)
	}
	if code := run([]string{"-type", "plain,full", "-check"}, dir, &stderr); code != 1 {
		t.Errorf("-check of an old output: exit %d, want 1", code)
	}
}

func TestBadUse(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no type", nil, 2, "want -type"},
		{"unknown type", []string{"-type", "nope"}, 2, "no methods Lock and Unlock on *nope"},
		{"methods on the value", []string{"-type", "byValue"}, 2, "on *byValue"},
		{"argument", []string{"-type", "plain", "x"}, 2, "no arguments"},
		{"unknown flag", []string{"-nope"}, 2, "not defined"},
		{"unwritable", []string{"-type", "plain", "-o", "missing/x.go"}, 1, "write"},
		{"bad build line", []string{"-type", "plain", "-build", "(("}, 2, "-build"},
	} {
		var stderr bytes.Buffer
		code := run(c.args, copyHandles(t), &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit %d, stderr %q: want exit %d and %q", c.name, code, &stderr, c.code, c.want)
		}
	}
	var stderr bytes.Buffer
	if code := run([]string{"-type", "x"}, t.TempDir(), &stderr); code != 2 || !strings.Contains(stderr.String(), "no Go files") {
		t.Errorf("empty folder: exit %d: %s", code, &stderr)
	}
}
