//go:build linux

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guard bounds every wait of these tests: a hang, not a speed.
const guard = 60 * time.Second

// started is a running lockbench.
type started struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan error
}

// start runs this test binary as lockbench.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{cmd: exec.Command(exe, args...), done: make(chan error, 1)}
	s.cmd.Env = append(os.Environ(), "LOCKBENCH_TEST_MAIN=1")
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	return s
}

func (s *started) wait(t *testing.T) int {
	t.Helper()
	select {
	case err := <-s.done:
		var e *exec.ExitError
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(guard):
		_ = s.cmd.Process.Kill()
		t.Fatalf("lockbench did not end; stderr: %s", &s.stderr)
		return 0
	}
}

// child waits for a child process of pid and returns its pid.
func child(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range stats {
			b, err := os.ReadFile(f)
			if err != nil {
				continue // it ended
			}
			_, rest, _ := strings.Cut(string(b), ") ")
			if fs := strings.Fields(rest); len(fs) > 1 && fs[1] == fmt.Sprint(pid) && fs[0] != "Z" {
				var kid int
				if _, err := fmt.Sscan(string(b), &kid); err != nil {
					t.Fatal(err)
				}
				return kid
			}
		}
	}
	t.Fatal("no child process appeared")
	return 0
}

// gone waits until a process has ended; one that nobody has reaped is gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(guard); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "Z") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// collapsed are flags of a run whose workers spin on all processors for long.
var collapsed = []string{"run", "--lock", "ticket", "--workload", "moderate", "--workers", "8", "--reps", "1", "--duration", "1m", "--format", "csv"}

func TestKilledParentLeavesNoChild(t *testing.T) {
	for i, delay := range []time.Duration{0, 2, 10, 40, 150} {
		out := filepath.Join(t.TempDir(), "k.jsonl")
		s := start(t, append(collapsed, "--out", out)...)
		kid := child(t, s.cmd.Process.Pid)
		time.Sleep(delay * time.Millisecond)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.wait(t)
		gone(t, kid)
		if i == 0 {
			// What was finished before is there and can be read.
			r := start(t, "report", out, "--format", "csv")
			if code := r.wait(t); code != 0 {
				t.Errorf("report of a killed run: exit %d: %s", code, &r.stderr)
			}
		}
	}
}

func TestFirstInterruptStops(t *testing.T) {
	out := filepath.Join(t.TempDir(), "i.jsonl")
	s := start(t, append(collapsed, "--out", out)...)
	kid := child(t, s.cmd.Process.Pid)
	time.Sleep(100 * time.Millisecond)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 130 {
		t.Errorf("exit %d, want 130", code)
	}
	gone(t, kid)
	b, err := os.ReadFile(out)
	if err != nil || !bytes.Contains(b, []byte(`"kind":"interrupted"`)) {
		t.Errorf("the file is not marked as interrupted: %v\n%s", err, b)
	}
	if !strings.Contains(s.stderr.String(), "interrupted after 0 of 2 repetitions") && !strings.Contains(s.stderr.String(), "interrupted after 1 of 2 repetitions") {
		t.Errorf("stderr: %s", &s.stderr)
	}
	if !strings.Contains(s.stdout.String(), "run_id") {
		t.Errorf("no report of what was measured: %s", &s.stdout)
	}
}

// TestInterruptBeforeThePair: ab and gate have nothing to say then, and say that
// they were interrupted, not that something is wrong with the input.
func TestInterruptBeforeThePair(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Programs are started without the variable that makes the test binary one.
	program := filepath.Join(t.TempDir(), "lockbench")
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rules, []byte("rules:\n  - {lock: mutex, metric: throughput_ops_s, max-regression: 5%}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"ab", "--reps", "20"}, {"gate", "--rules", rules}} {
		out := filepath.Join(t.TempDir(), "i.jsonl")
		s := start(t, append(verb, "--old", program, "--new", program, "--lock", "mutex", "--workload", "uncontended", "--duration", "60s", "--out", out)...)
		// Its first children only say what they are; the one that measures is
		// there when the file has its header.
		for end := time.Now().Add(guard); ; time.Sleep(10 * time.Millisecond) {
			if st, err := os.Stat(out); err == nil && st.Size() > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: no header; stderr: %s", verb[0], &s.stderr)
			}
		}
		kid := child(t, s.cmd.Process.Pid)
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := s.wait(t); code != 130 {
			t.Errorf("%s: exit %d, want 130; stderr: %s", verb[0], code, &s.stderr)
		}
		gone(t, kid)
		if text := s.stderr.String(); strings.Contains(text, "error:") || !strings.Contains(text, "interrupted after 0 of") {
			t.Errorf("%s: stderr: %s", verb[0], text)
		}
		if s.stdout.Len() > 0 {
			t.Errorf("%s: printed %s", verb[0], &s.stdout)
		}
	}
}

func TestSecondInterruptQuits(t *testing.T) {
	s := start(t, collapsed...)
	kid := child(t, s.cmd.Process.Pid)
	// A stopped child cannot drain: only the second interrupt, or the grace,
	// ends the run.
	if err := syscall.Kill(kid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if code := s.wait(t); code != 130 {
		t.Errorf("exit %d, want 130", code)
	}
	if s.stdout.Len() > 0 {
		t.Errorf("a report was printed: %s", &s.stdout)
	}
	gone(t, kid)
}

func TestFullDisk(t *testing.T) {
	s := start(t, "run", "--lock", "mutex", "--workload", "uncontended", "--reps", "1", "--duration", "5ms", "--out", "/dev/full")
	if code := s.wait(t); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	if !strings.Contains(s.stderr.String(), "no space left") {
		t.Errorf("stderr: %s", &s.stderr)
	}
}
