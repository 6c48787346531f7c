package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockbench/impls"
	"lockbench/internal/cell"
	"lockbench/internal/near"
	"lockbench/lock"
	"lockbench/results"
)

// The test binary is also the child: a real one, or one that misbehaves in the
// way that its first argument names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "child-") {
		os.Exit(fakeChild(strings.TrimPrefix(os.Args[1], "child-")))
	}
	os.Exit(m.Run())
}

func fakeChild(mode string) int {
	conn := cell.NewConn(os.Stdin, os.Stdout)
	send := func(m cell.Message) {
		if conn.Send(m) != nil {
			os.Exit(9)
		}
	}
	switch mode {
	case "real":
		return cell.Main(func(name string) (lock.Info, error) {
			for _, i := range impls.Merge(impls.Catalog(), impls.Broken(), plantedLeases()) {
				if i.Name == name {
					return i, nil
				}
			}
			return lock.Info{}, &near.UnknownError{What: "lock", Name: name}
		}, "test", os.Stdin, os.Stdout, os.Exit)
	case "early-exit":
		return 7
	case "garbage":
		fmt.Println("hello")
		time.Sleep(time.Hour)
	case "silent":
		time.Sleep(time.Hour)
	case "parent": // leaves a process behind that holds its output open
		c := exec.Command("sleep", grandchildSleep)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if c.Start() != nil {
			return 8
		}
		return 0
	}
	m, err := conn.Receive()
	if err != nil {
		return 1
	}
	if mode == "old" {
		send(cell.Message{Type: cell.MsgReady, Protocol: 99})
		time.Sleep(time.Hour)
	}
	send(cell.Message{Type: cell.MsgReady, Protocol: cell.ProtocolMajor, PID: os.Getpid()})
	if m, err = conn.Receive(); err != nil || m.Type != cell.MsgGo {
		return 1
	}
	switch mode {
	case "panic":
		panic("boom")
	case "half":
		fmt.Print(`{"type":"record","sam`)
		return 0
	case "deaf":
		time.Sleep(time.Hour) // ignores stop and the end of its input
	case "event":
		send(cell.Message{Type: cell.MsgEvent, Event: &results.Event{Kind: "note", Text: "hi"}})
		send(cell.Message{Type: "from-the-future"})
	}
	send(cell.Message{Type: cell.MsgRecord, Sample: &results.Sample{
		Outcome: results.OutcomeOK, Ops: 10, ElapsedNS: 1000, ThroughputOps: 1e7, WallNSPerOp: 100, PerWorkerOps: []int64{10},
		CPUNSPerOp: 50, Lock: "liar",
	}})
	return 0
}

// sink keeps what a run brings.
type sink struct {
	samples []*results.Sample
	events  []results.Event
	fail    error
}

func (s *sink) Sample(x *results.Sample) error { s.samples = append(s.samples, x); return s.fail }
func (s *sink) Event(e results.Event) error    { s.events = append(s.events, e); return nil }

func childRunner(mode string, to *sink) *Runner {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Runner{Self: []string{exe, "child-" + mode}, Calibration: Calibrate(true), Sink: to}
}

func quick(locks ...string) Spec {
	s := Default()
	s.Locks, s.Workloads = locks, presets("uncontended")
	s.Reps, s.Warmup, s.Duration, s.Timeout = 1, time.Millisecond, 5*time.Millisecond, 500*time.Millisecond
	return s
}

// here is the machine of the test.
func here(t *testing.T) Machine {
	t.Helper()
	m := Machine{}
	for i := range runtime.NumCPU() {
		m.Compact, m.Scatter = append(m.Compact, i), append(m.Scatter, i)
	}
	return m
}

func runPlan(t *testing.T, r *Runner, s Spec) Summary {
	t.Helper()
	p, err := NewPlan(s, impls.Merge(impls.Catalog(), impls.Broken()), here(t))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := r.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestChildrenThatMisbehave(t *testing.T) {
	for _, c := range []struct {
		mode, outcome, reason, event string
	}{
		{"fine", results.OutcomeOK, "", ""},
		{"event", results.OutcomeOK, "", "note"},
		{"early-exit", results.OutcomeError, "exit status 7", "crash"},
		{"panic", results.OutcomeError, "boom", "crash"},
		{"garbage", results.OutcomeError, "broke the protocol", "crash"},
		{"half", results.OutcomeError, "without a record", "crash"},
		{"old", results.OutcomeError, "cell protocol 99", ""},
	} {
		t.Run(c.mode, func(t *testing.T) {
			var to sink
			runPlan(t, childRunner(c.mode, &to), quick("mutex"))
			for _, s := range to.samples {
				if s.Outcome != c.outcome || !strings.Contains(s.Reason, c.reason) {
					t.Errorf("outcome %s (%s), want %s (%s)", s.Outcome, s.Reason, c.outcome, c.reason)
				}
				if s.Lock == "liar" || s.Cell == "" || s.Dispatch != cell.DispatchDirect || s.Seed == 0 {
					t.Errorf("the sample's identity is the child's: %+v", s)
				}
			}
			kinds := ""
			for _, e := range to.events {
				kinds += e.Kind + " "
				if e.Cell == "" || e.Type != results.TypeEvent {
					t.Errorf("event without its cell: %+v", e)
				}
			}
			if !strings.HasPrefix(kinds, c.event) || (c.event == "") != (kinds == "") {
				t.Errorf("events %q, want %q", kinds, c.event)
			}
		})
	}
}

func TestSilentChildIsAHang(t *testing.T) {
	var to sink
	s := quick("null")
	s.Timeout = 100 * time.Millisecond
	sum := runPlan(t, childRunner("silent", &to), s)
	if len(to.samples) != 1 || to.samples[0].Outcome != results.OutcomeHang || !sum.Worst() {
		t.Fatalf("samples %+v", to.samples)
	}
	if len(to.events) != 1 || to.events[0].Kind != "hang" || !strings.Contains(to.events[0].Dump, "time.Sleep") {
		t.Errorf("no goroutine dump: %+v", to.events)
	}
}

// TestGrandchildren: a process that a child left behind, with the child's output
// open, ends with the repetition and does not hold it up.
func TestGrandchildren(t *testing.T) {
	if _, err := exec.LookPath("sleep"); err != nil {
		t.Skip(err)
	}
	to := &sink{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runPlan(t, childRunner("parent", to), quick("mutex"))
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute): // the grandchild sleeps for ten
		t.Fatal("the run waits for a grandchild")
	}
	for _, s := range to.samples {
		if s.Outcome != results.OutcomeError {
			t.Errorf("%s: got %s (%s), want an error: there was no record", s.Cell, s.Outcome, s.Reason)
		}
	}
	for _, f := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), grandchildSleep) {
			t.Errorf("left behind: %q in %s", b, f)
		}
	}
}

// grandchildSleep are seconds that nobody else sleeps.
const grandchildSleep = "600.123"

func must(files []string, err error) []string {
	if err != nil {
		panic(err)
	}
	return files
}

func TestHangKeepsTheDump(t *testing.T) {
	var to sink
	s := quick("broken-lost-wakeup")
	s.Workloads = presets("moderate")
	s.Duration = 2 * time.Second
	sum := runPlan(t, childRunner("real", &to), s)
	for _, x := range to.samples {
		if x.Lock != "broken-lost-wakeup" {
			continue
		}
		if x.Outcome != results.OutcomeHang || !sum.Worst() {
			t.Errorf("outcome %s (%s)", x.Outcome, x.Reason)
		}
	}
	if len(to.events) != 1 || !strings.Contains(to.events[0].Dump, "broken") {
		t.Errorf("events %+v", to.events)
	}
}

func TestBrokenLocksAreViolations(t *testing.T) {
	var to sink
	s := quick("broken-noop", "broken-two")
	s.Workloads = presets("moderate")
	s.Duration = 50 * time.Millisecond
	sum := runPlan(t, childRunner("real", &to), s)
	if sum.Outcomes[results.OutcomeViolation] != 2 || sum.Outcomes[results.OutcomeOK] != 1 {
		t.Errorf("outcomes %v, want two violations and null", sum.Outcomes)
	}
}

// runClients runs the repetitions of a plan as sessions of several children.
func runClients(t *testing.T, mode string, clients int, s Spec) (out []*results.Sample) {
	t.Helper()
	p, err := NewPlan(s, impls.Catalog(), here(t))
	if err != nil {
		t.Fatal(err)
	}
	var to sink
	r := childRunner(mode, &to)
	for _, step := range p.Steps {
		spec := r.cellSpec(p.Spec, step)
		spec.Clients = clients
		se := &session{spec: spec, onEvent: func(results.Event) {}}
		m, err := se.run(t.Context(), command{path: r.Self[0], args: r.Self[1:]}, step.Cell.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		m.Cell, m.Lock, m.Workers = step.Cell.Name, step.Cell.Lock.Name, step.Cell.Workers*clients
		out = append(out, m)
	}
	return out
}

func TestClientsAreMerged(t *testing.T) {
	for _, s := range runClients(t, "fine", 3, quick("mutex")) {
		if s.Ops != 30 || s.ThroughputOps != 3e7 || s.CPUNSPerOp != 50 || len(s.PerWorkerOps) != 3 {
			t.Errorf("merged sample %+v", s)
		}
	}
	for _, s := range runClients(t, "real", 2, quick("mutex")) {
		if s.Outcome != results.OutcomeOK || len(s.PerWorkerOps) != 2 || s.Acquire == nil || s.Fairness.Jain == nil {
			t.Errorf("merged real sample: %s (%s), %+v", s.Outcome, s.Reason, s)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("merged sample: %v", err)
		}
	}
}

func TestInterruptEndsChildren(t *testing.T) {
	for _, mode := range []string{"real", "deaf"} {
		var to sink
		s := quick("mutex")
		s.Duration = time.Hour
		p, err := NewPlan(s, impls.Catalog(), here(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(300*time.Millisecond, cancel)
		sum, err := childRunner(mode, &to).Run(ctx, p)
		if err != nil || !sum.Interrupted || sum.Done != 0 || len(to.samples) != 0 {
			t.Errorf("%s: %+v, %v, %d samples", mode, sum, err, len(to.samples))
		}
		if len(to.events) != 1 || to.events[0].Kind != results.EventInterrupted {
			t.Errorf("%s: events %+v", mode, to.events)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("%s: children left behind: %v", mode, left)
		}
	}
}

// children returns this process's child processes, on Linux.
func children(t *testing.T) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range stats {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// pid (comm) state ppid ...
		_, rest, _ := strings.Cut(string(b), ") ")
		if fs := strings.Fields(rest); len(fs) > 1 && fs[1] == fmt.Sprint(os.Getpid()) && fs[0] != "Z" {
			out = append(out, string(b[:min(len(b), 40)]))
		}
	}
	return out
}

func TestSinkErrorEndsTheRun(t *testing.T) {
	to := sink{fail: errors.New("disk full")}
	p, err := NewPlan(quick("mutex"), impls.Catalog(), here(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := childRunner("fine", &to).Run(context.Background(), p); !errors.Is(err, to.fail) || len(to.samples) != 1 {
		t.Errorf("%v after %d samples", err, len(to.samples))
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	var to sink
	r := childRunner("fine", &to)
	r.Self = []string{filepath.Join(t.TempDir(), "missing")}
	runPlan(t, r, quick("mutex"))
	for _, s := range to.samples {
		if s.Outcome != results.OutcomeError || !strings.Contains(s.Reason, "missing") {
			t.Errorf("outcome %s (%s)", s.Outcome, s.Reason)
		}
	}
}

func TestEveryLockRuns(t *testing.T) {
	var to sink
	s := quick("all")
	s.Workloads = presets("uncontended", "moderate", "read-mostly")
	s.Timeout = 20 * time.Second
	sum := runPlan(t, childRunner("real", &to), s)
	if sum.Outcomes[results.OutcomeOK] != sum.Done {
		t.Errorf("outcomes %v", sum.Outcomes)
	}
	for _, x := range to.samples {
		if x.Outcome != results.OutcomeOK {
			t.Errorf("%s: %s (%s)", x.Cell, x.Outcome, x.Reason)
		}
	}
}
