package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sample is what the test reads of a record; the names are those of the
// record schema.
type sample struct {
	Type       string
	Lock       string
	Outcome    string
	Reason     string
	Dispatch   string
	Ops        int64
	Flags      []string
	Violations int64
	ClockReads int64 `json:"clock_reads_throughput"`
	Mallocs    int64 `json:"mallocs_throughput"`
}

// TestMeasuredLikeBuiltIn builds the program, runs it, and holds the records
// of its own lock against the same conditions as those of a built-in one.
func TestMeasuredLikeBuiltIn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "customlock")
	command(t, "go", "build", "-pgo=off", "-o", program, ".")
	file := filepath.Join(dir, "f.jsonl")
	table := command(t, program, "run", "--lock", "graunke-thakkar,tas", "--workload", "uncontended",
		"--reps", "2", "--duration", "5ms", "--warmup", "1ms", "--out", file)
	if !strings.Contains(table, "graunke-thakkar") {
		t.Errorf("the table does not name the lock:\n%s", table)
	}
	samples := map[string][]sample{}
	for _, s := range read(t, file) {
		samples[s.Lock] = append(samples[s.Lock], s)
	}
	for _, name := range []string{"graunke-thakkar", "tas"} {
		if got, want := len(samples[name]), 2; got != want {
			t.Errorf("%s: %d samples, want %d", name, got, want)
		}
		for _, s := range samples[name] {
			check(t, s)
		}
	}
}

// check holds a sample against what a lock with loops of its own shows: no
// interface call, no clock and no allocation an operation. A batch is
// thousands of operations and reads the clock twice.
func check(t *testing.T, s sample) {
	t.Helper()
	if s.Outcome != "ok" || s.Violations != 0 {
		t.Errorf("%s: outcome %s (%s), %d violations: want ok and none", s.Lock, s.Outcome, s.Reason, s.Violations)
	}
	if s.Dispatch != "direct" {
		t.Errorf("%s: dispatch %q, want direct", s.Lock, s.Dispatch)
	}
	for _, f := range s.Flags {
		if word, _, _ := strings.Cut(f, ":"); word == "interface" {
			t.Errorf("%s: flag %q", s.Lock, f)
		}
	}
	if s.Ops < 1000 {
		t.Errorf("%s: %d operations in 5 ms", s.Lock, s.Ops)
	}
	if s.ClockReads*50 > s.Ops {
		t.Errorf("%s: %d clock readings for %d operations", s.Lock, s.ClockReads, s.Ops)
	}
	if s.Mallocs*50 > s.Ops {
		t.Errorf("%s: %d allocations for %d operations", s.Lock, s.Mallocs, s.Ops)
	}
}

// command runs a program and returns its standard output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

// read returns the samples of a results file.
func read(t *testing.T, file string) []sample {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []sample
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if s.Type == "sample" {
			out = append(out, s)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
