package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndToEnd builds the programs, records a session, replays gates, runs one
// live, and does it again with what is there.
func TestEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "lockbench")
	if out, err := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", program, "lockbench/cmd/lockbench").CombinedOutput(); err != nil {
		t.Fatalf("build lockbench: %v\n%s", err, out)
	}
	study := filepath.Join(dir, "study")
	args := []string{"-program", program, "-dir", study, "-only", "same,live", "-lock", "ticket,mutex", "-duration", "2ms", "-warmup", "1ms",
		"-pairs", "20", "-slow-pairs", "20", "-contended-pairs", "20", "-budget", "16", "-layouts", "1", "-gates", "25", "-live", "1"}
	again := func(name string) (stdout, stderr string) {
		t.Helper()
		var out, err bytes.Buffer
		if code := run(context.Background(), args, &out, &err); code != exitOK {
			t.Fatalf("%s: exit %d\n%s%s", name, code, out.String(), err.String())
		}
		return out.String(), err.String()
	}
	first, progress := again("first")
	for _, want := range []string{"### Verdicts of replayed gates", "| the same program ", "of 25: ", "### Live gates", "| ticket | ", "| mutex ",
		"\nfigure gate_false_alarms_same ", "\nfigure gate_live_false_alarms "} {
		if !strings.Contains(first, want) {
			t.Errorf("stdout lacks %q:\n%s", want, first)
		}
	}
	lines := strings.Split(strings.TrimSpace(first), "\n")
	if n := len(lines); !strings.HasPrefix(lines[n-1], "figure ") || !strings.HasPrefix(lines[n-2], "figure ") || strings.Contains(first, "%!") {
		t.Errorf("the last lines are no figures, or a verb is wrong:\n%s", first)
	}
	if !strings.Contains(progress, "session 1 of 1: the same program, 20 pairs of 2 locks") {
		t.Errorf("stderr does not say what is going on:\n%s", progress)
	}

	second, progress := again("second")
	if second != first || !strings.Contains(progress, "using ") || strings.Contains(progress, "building") {
		t.Errorf("what is there was not used again:\n%s%s\nfirst:\n%s", progress, second, first)
	}

	// A session that was interrupted is recorded anew.
	path := filepath.Join(study, "same.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, progress := again("after an interrupt"); strings.Contains(progress, "using ") {
		t.Errorf("half a recording was used:\n%s", progress)
	}

	// Another program at the place of the recorded one is refused.
	if err := os.Rename(program, filepath.Join(study, "base")); err != nil {
		t.Fatal(err)
	}
	args[1] = filepath.Join(study, "base")
	var out, stderr bytes.Buffer
	if code := run(context.Background(), args, &out, &stderr); code != exitRuntime || !strings.Contains(stderr.String(), "recorded with other programs") ||
		!strings.Contains(out.String(), "figure gate_false_alarms_same (") {
		t.Errorf("other programs: exit %d\n%s%s", code, out.String(), stderr.String())
	}
}
