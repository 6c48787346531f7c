package claims

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is the client process, too: with this variable it is one.
const childEnv = "LOCKBENCH_TEST_CLAIMS"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := client(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// client is a process of a cell: arena, lock file ("" = excludes nobody), number of the first worker,
// workers, sections of each.
func client(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 5 {
		return fmt.Errorf("got %q", args)
	}
	var n [3]int
	for i := range n {
		v, err := strconv.Atoi(args[2+i])
		if err != nil {
			return fmt.Errorf("argument %d: %w", 2+i, err)
		}
		n[i] = v
	}
	a, err := Open(args[0])
	if err != nil {
		return err
	}
	defer a.Close()
	fmt.Fprintln(out, "ready")
	if _, err := io.Copy(io.Discard, in); err != nil { // its end is the start of all
		return fmt.Errorf("wait for the start: %w", err)
	}
	errs := make([]error, n[1])
	var wg sync.WaitGroup
	for i := range n[1] {
		wg.Go(func() { errs[i] = work(a, args[1], n[0]+i, n[2]) })
	}
	wg.Wait()
	a.Finish()
	return errors.Join(errs...)
}

// work does sections under an exclusive lock on a file, which each worker has opened for itself,
// or under none: then they last for as long as it takes another one to enter.
func work(a *Arena, path string, worker, rounds int) error {
	if path == "" {
		for range rounds {
			e := a.Enter(worker, 0, 0, false)
			time.Sleep(50 * time.Microsecond)
			a.Exit(worker, 0, e, 0)
			a.Free(0)
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the lock: %w", err)
	}
	defer f.Close()
	flock := func(how int) error {
		for {
			if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	}
	for i := range rounds {
		if err := flock(unix.LOCK_EX); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		token := a.Lines(0)
		next := binary.LittleEndian.Uint64(token)
		e := a.Enter(worker, 0, next, true)
		binary.LittleEndian.PutUint64(token, next+1)
		a.Move(i%2, 1-i%2, int64(i))
		a.Acknowledged(1, 1)
		a.Exit(worker, 0, e, 0)
		if err := flock(unix.LOCK_UN); err != nil {
			return fmt.Errorf("unlock: %w", err)
		}
		a.Free(0)
	}
	return nil
}

// clients runs processes on an arena, started together, and waits for them.
func clients(t *testing.T, path, lock string, processes, workers, rounds int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var start []io.Closer
	var cmds []*exec.Cmd
	var said []*bytes.Buffer
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), exe, path, lock, strconv.Itoa(i*workers), strconv.Itoa(workers), strconv.Itoa(rounds))
		cmd.Env = append(os.Environ(), childEnv+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, said, start = append(cmds, cmd), append(said, &stderr), append(start, in)
		if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
			t.Errorf("process %d is not ready: %v", i, err)
		}
	}
	for _, in := range start {
		_ = in.Close()
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, said[i])
		}
	}
}

// Processes that map one file, under a lock that excludes: no violation.
func TestProcessesThatExclude(t *testing.T) {
	const processes, workers, rounds = 3, 2, 3000
	a, path := create(t, 2, processes*workers, 1)
	lock := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	clients(t, path, lock, processes, workers, rounds)
	audit(t, a, Audit{})
	const all = processes * workers * rounds
	if n := a.keys[0].sections.Load(); n != all || a.keys[0].counter != all || a.Busy(0) || a.Finished() != processes {
		t.Errorf("%d sections, %d counted, want %d; busy %v; %d finished", n, a.keys[0].counter, all, a.Busy(0), a.Finished())
	}
	if acked, unknown := a.Written(1); acked != all || unknown != 0 {
		t.Errorf("%d acknowledged, %d unknown, want %d and none", acked, unknown, all)
	}
	if last := a.keys[0].token.Load(); last != all { // tokens begin at 0
		t.Errorf("the last token is %d, want %d", int64(last)-1, all-1)
	}
}

// The same without a lock: plenty.
func TestProcessesThatDoNot(t *testing.T) {
	const processes, workers, rounds = 3, 2, 200
	a, path := create(t, 1, processes*workers, 0)
	clients(t, path, "", processes, workers, rounds)
	got := a.Audit()
	if got.Overlaps < rounds || got.LostUpdates < rounds || got.Stale != 0 || got.Regressions != 0 {
		t.Errorf("got %+v of %d sections, want at least %d overlaps and lost updates, and nothing else", got, processes*workers*rounds, rounds)
	}
	if a.Busy(0) {
		t.Error("nobody has it")
	}
}

// A process that is killed in a section leaves its claim: whoever is granted after it meets it.
func TestClaimOutlivesItsProcess(t *testing.T) {
	a, path := create(t, 1, 2, 0)
	cmd := exec.CommandContext(t.Context(), os.Args[0], path, "", "1", "1", strconv.Itoa(1<<40))
	cmd.Env = append(os.Environ(), childEnv+"=1")
	if err := cmd.Start(); err != nil { // its standard input ends at once
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	deadline := time.Now().Add(30 * time.Second)
	for a.keys[0].sections.Load() == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	for tries := 0; ; tries++ { // stopped inside, it is killed there
		if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// SIGSTOP takes effect at once or at the return from the system call: the claim stands then.
		var status unix.WaitStatus
		if _, err := unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("stop: %v, %v", err, status)
		}
		if a.keys[0].owner.Load() == 2 {
			break
		}
		if tries == 10000 {
			t.Fatal("it is never inside")
		}
		if err := cmd.Process.Signal(unix.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := a.Enter(0, 0, 0, false); e.Overlap != 1 {
		t.Errorf("met worker %d, want 1", e.Overlap)
	}
	if ring := a.Ring(1); ring[len(ring)-1].Exit != 0 {
		t.Errorf("its last claim: got %+v, want one that stands", ring[len(ring)-1])
	}
}
