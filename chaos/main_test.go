package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockbench/backends"
	"lockbench/chaos/actor"
	"lockbench/chaos/inproc"
	"lockbench/impls"
	"lockbench/lock"
	"lockbench/results"
)

// guard bounds what a test waits for: a hang, not a speed.
const guard = 60 * time.Second

const (
	clientVerb = "chaos-client"
	lockVerb   = "chaos-lock"
)

// TestMain makes the test binary a child of a round.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case clientVerb:
			os.Exit(actor.Main(lookup, os.Stdin, os.Stdout, os.Exit))
		case lockVerb:
			os.Exit(inproc.Main(lookup, os.Stdin, os.Stdout, os.Exit))
		case "chaos-mute": // a child that never says that it is there
			fmt.Fprintln(os.Stderr, "no word")
			os.Exit(3)
		}
	}
	code := m.Run()
	if code == 0 && !idle() {
		code = 1
	}
	os.Exit(code)
}

// idle reports whether no goroutine of the runs is left, once those that are just ending have ended.
func idle() bool {
	const own = 2 // this one, and perhaps one of the signals
	for end := time.Now().Add(guard / 2); runtime.NumGoroutine() > own; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", buf[:runtime.Stack(buf, true)])
			return false
		}
	}
	return true
}

func lookup(name string) (lock.Info, error) {
	for _, i := range slices.Concat(impls.Catalog(), plantedLocks()) {
		if i.Name == name {
			return i, nil
		}
	}
	return lock.Info{}, fmt.Errorf("no lock %q", name)
}

func lockNamed(t testing.TB, name string) lock.Info {
	t.Helper()
	i, err := lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// cellOf is a cell on the harness's own server, of one round that must count.
func cellOf(t testing.TB, name string, f Fault, policy string) *Cell {
	t.Helper()
	top, err := backends.TopologyNamed("loopback")
	if err != nil {
		t.Fatal(err)
	}
	return &Cell{Lock: lockNamed(t, name), Topology: top, Fault: f, Policy: policy}
}

// rig is a run with real child processes, and what it has told.
type rig struct {
	t testing.TB
	o Options

	mu       sync.Mutex
	pids     []int
	held     int // children that are held
	paths    int // paths that are held
	clusters int // opened
	verdicts []results.ChaosVerdict
	events   []results.Event
	said     []string
	onStart  func(n int) // called before a child is started when n-1 have been; may be nil
}

// newRig makes a run of some cells. When the test ends, nothing of it must be there any more.
func newRig(t testing.TB, cells ...*Cell) *rig {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t}
	// Not t.TempDir: the name of a test is long, and that of a socket may not be.
	dir, err := os.MkdirTemp("", "lb-")
	if err != nil {
		t.Fatal(err)
	}
	locked := func(do func()) {
		r.mu.Lock()
		defer r.mu.Unlock()
		do()
	}
	r.o = Options{RunID: "test", Cells: cells, Rounds: 1, Seed: 1, Parallel: 8, Clusters: 1, TempDir: dir,
		ClientArgv: []string{exe, clientVerb}, LockArgv: []string{exe, lockVerb},
		Start: func(cmd *exec.Cmd) error {
			r.mu.Lock()
			n, do := len(r.pids)+1, r.onStart
			r.mu.Unlock()
			if do != nil {
				do(n)
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			locked(func() { r.pids = append(r.pids, cmd.Process.Pid) })
			return nil
		},
		Hold: func(int) (func(), error) {
			locked(func() { r.held++ })
			return sync.OnceFunc(func() { locked(func() { r.held-- }) }), nil
		},
		HoldPath: func(string) (func(), error) {
			locked(func() { r.paths++ })
			return sync.OnceFunc(func() { locked(func() { r.paths-- }) }), nil
		},
		Open: func(ctx context.Context, topology string, clock bool) (*backends.Cluster, error) {
			locked(func() { r.clusters++ })
			return backends.Open(ctx, topology, backends.Options{RunID: "test", Clock: clock})
		},
		Verdict: func(v results.ChaosVerdict) { locked(func() { r.verdicts = append(r.verdicts, v) }) },
		Event:   func(e results.Event) { locked(func() { r.events = append(r.events, e) }) },
		Log:     func(s string) { locked(func() { r.said = append(r.said, s) }) },
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the run said %q", r.said)
		}
		r.nothingLeft(dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

// run runs it to its end.
func (r *rig) run(ctx context.Context) ([]results.ChaosVerdict, error) {
	r.t.Helper()
	type end struct {
		v   []results.ChaosVerdict
		err error
	}
	done := make(chan end, 1)
	go func() {
		v, err := Run(ctx, r.o)
		done <- end{v, err}
	}()
	select {
	case e := <-done:
		return e.v, e.err
	case <-time.After(2 * guard):
		buf := make([]byte, 1<<20)
		r.t.Fatalf("the run does not end\n%s", buf[:runtime.Stack(buf, true)])
		return nil, nil
	}
}

// nothingLeft fails the test if a process or a file of the run is still there.
func (r *rig) nothingLeft(dir string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range r.pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			r.t.Errorf("process %d is still there", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if r.held != 0 || r.paths != 0 {
		r.t.Errorf("the watchdog still holds %d processes and %d paths", r.held, r.paths)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		r.t.Errorf("files are left: %v, %v", left, err)
	}
}

// of is the verdict of a cell.
func (r *rig) of(all []results.ChaosVerdict, c *Cell) results.ChaosVerdict {
	r.t.Helper()
	for _, v := range all {
		if v.Lock == c.Lock.Name && v.Fault == c.Fault.Name && v.Policy == c.Policy && v.Topology == c.Topology.Name && v.Control == c.Control {
			return v
		}
	}
	r.t.Errorf("%s: no verdict", c.Name())
	return results.ChaosVerdict{}
}
