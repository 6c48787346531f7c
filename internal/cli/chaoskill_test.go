//go:build linux

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/watchdog"
)

// mark is the variable by which all processes of a run of these tests are known: children inherit it.
const mark = "LOCKBENCH_TEST_RUN"

// chaosRun is a run of the real program, with a directory for temporary files of its own.
type chaosRun struct {
	*started
	mark, tmp string
}

// startChaos starts lockbench in a session of its own.
func startChaos(t *testing.T, args ...string) *chaosRun {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp("", "lk-") // not t.TempDir: names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	r := &chaosRun{tmp: tmp, mark: mark + "=" + filepath.Base(tmp), started: &started{done: make(chan error, 1)}}
	r.cmd = exec.Command(exe, append([]string{"chaos"}, args...)...)
	r.cmd.Env = append(os.Environ(), "LOCKBENCH_TEST_MAIN=1", "TMPDIR="+tmp, r.mark)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r.cmd.WaitDelay = guard // children that outlive it would keep its output open
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() {
		for _, p := range r.processes() { // of a test that has failed
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		_ = os.RemoveAll(tmp)
	})
	return r
}

// proc is a process of a run.
type proc struct {
	pid   int
	state string // as in /proc/PID/stat: T is stopped, Z is dead
	verb  string // its first argument
}

// processes are all of the run that live.
func (r *chaosRun) processes() (out []proc) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+r.mark+"\x00")) {
			continue
		}
		stat, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue // it has ended
		}
		p := proc{}
		if _, err := fmt.Sscan(filepath.Base(d), &p.pid); err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if p.state, _, _ = strings.Cut(rest, " "); p.state == "Z" {
			continue
		}
		if args, err := os.ReadFile(d + "/cmdline"); err == nil {
			if f := strings.Split(string(args), "\x00"); len(f) > 1 {
				p.verb = f[1]
			}
		}
		out = append(out, p)
	}
	return out
}

// has reports whether a process of the run is such.
func (r *chaosRun) has(ok func(proc) bool) bool {
	for _, p := range r.processes() {
		if ok(p) {
			return true
		}
	}
	return false
}

func isClient(p proc) bool  { return p.verb == "chaos-client" }
func isStopped(p proc) bool { return isClient(p) && p.state == "T" }

// until waits until ok, or the program's end, or longer than anything takes.
func (r *chaosRun) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(guard); !ok(); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-r.done:
			r.done <- err
			t.Fatalf("%s: it ended before: %v, %s", what, err, &r.stderr)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, guard)
		}
	}
}

// owned are containers and networks that belong to the run.
func (r *chaosRun) owned(t *testing.T) (out []string) {
	t.Helper()
	for _, args := range [][]string{
		{"ps", "-a", "--filter", "label=" + watchdog.OwnerLabel, "--format", `{{.Names}} {{.State}} {{.Label "` + watchdog.OwnerLabel + `"}}`},
		{"network", "ls", "--filter", "label=" + watchdog.OwnerLabel, "--format", `{{.Name}} network {{.Label "` + watchdog.OwnerLabel + `"}}`},
	} {
		b, err := exec.Command("docker", args...).Output()
		if err != nil {
			t.Fatalf("docker %s: %v", args[0], err)
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) != 3 {
				continue
			}
			if o, err := watchdog.ParseOwner(f[2]); err == nil && o.PID == r.cmd.Process.Pid {
				out = append(out, f[0]+" ("+f[1]+")")
			}
		}
	}
	return out
}

// nothingLeft waits until no process, container, network or file of the run is there.
func (r *chaosRun) nothingLeft(t *testing.T, docker bool) {
	t.Helper()
	var left []string
	for end := time.Now().Add(guard); ; time.Sleep(20 * time.Millisecond) {
		left = nil
		for _, p := range r.processes() {
			left = append(left, fmt.Sprintf("process %d, %s, state %s", p.pid, p.verb, p.state))
		}
		if len(left) == 0 && docker {
			left = r.owned(t)
		}
		if len(left) == 0 {
			files, err := os.ReadDir(r.tmp)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				left = append(left, filepath.Join(r.tmp, f.Name()))
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("left behind: %q", left)
			return
		}
	}
}

// TestChaosKilled: whatever the parent was at when it was killed, no process, container, frozen child, proxy or
// file is left. The moments are random, and the same in each run of the test: half of them count from the start, half of them
// from when the first client process was there, so that a slow machine gets as far, too.
func TestChaosKilled(t *testing.T) {
	docker, err := haveDocker()
	if err != nil {
		t.Fatal(err)
	}
	const kills, longest = 20, 5 * time.Second
	loopback := []string{"--lock", "control-ttl,control-perfect", "--fault", "holder-pause,holder-cutoff,waiter-pause,holder-kill", "--rounds", "200"}
	redis := []string{"--lock", "redis", "--topology", "redis", "--fault", "holder-pause,holder-cutoff,server-pause", "--rounds", "200"}
	random := rand.New(rand.NewPCG(20, 9))
	room := make(chan struct{}, 5) // runs at a time
	var mu sync.Mutex
	var clients, stopped, containers int
	t.Run("at", func(t *testing.T) {
		for i := range kills {
			moment, args, servers, fromClient := time.Duration(random.Int64N(int64(longest))), loopback, false, i/2%2 == 1
			if i%2 == 1 && docker {
				args, servers = redis, true
			}
			t.Run(fmt.Sprintf("%d-%v", i, moment.Round(time.Millisecond)), func(t *testing.T) {
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				r := startChaos(t, append([]string{"--parallel", "4", "--progress", "none", "--seed", fmt.Sprint(i + 1)}, args...)...)
				if fromClient {
					r.until(t, "a client process", func() bool { return r.has(isClient) })
				}
				time.Sleep(moment)
				mu.Lock()
				if r.has(isClient) {
					clients++
				}
				if r.has(isStopped) {
					stopped++
				}
				if servers && len(r.owned(t)) > 0 {
					containers++
				}
				mu.Unlock()
				select {
				case err := <-r.done:
					t.Fatalf("it ended by itself: %v, %s", err, &r.stderr)
				default:
				}
				if err := syscall.Kill(r.cmd.Process.Pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				r.wait(t)
				r.nothingLeft(t, servers)
			})
		}
	})
	t.Logf("%d kills: in %d there were clients, in %d a stopped one, in %d servers in containers", kills, clients, stopped, containers)
	if clients < kills/2 || docker && containers == 0 {
		t.Errorf("only %d of %d kills hit a run with client processes, %d one with containers", clients, kills, containers)
	}
}

// TestChaosInterrupted: an interrupt ends a run in order, wherever it is: exit code 130, what is known is told, nothing is left.
// A second one does not wait for that.
func TestChaosInterrupted(t *testing.T) {
	for _, x := range []struct {
		name   string
		when   func(r *chaosRun, out string) bool
		signal syscall.Signal
		times  int
	}{
		{"at the beginning", func(_ *chaosRun, out string) bool { st, err := os.Stat(out); return err == nil && st.Size() > 0 }, syscall.SIGINT, 1},
		{"while processes start", func(r *chaosRun, _ string) bool { return r.has(isClient) }, syscall.SIGTERM, 1},
		{"while a holder is stopped", func(r *chaosRun, _ string) bool { return r.has(isStopped) }, syscall.SIGINT, 1},
		{"twice", func(r *chaosRun, _ string) bool { return r.has(isStopped) }, syscall.SIGINT, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "c.jsonl")
			r := startChaos(t, "--lock", "control-ttl", "--fault", "holder-pause,waiter-pause", "--rounds", "100", "--parallel", "4", "--out", out, "--format", "csv")
			r.until(t, x.name, func() bool { return x.when(r, out) })
			for i := range x.times {
				if err := r.cmd.Process.Signal(x.signal); errors.Is(err, os.ErrProcessDone) && i > 0 {
					break // it was that quick
				} else if err != nil {
					t.Fatal(err)
				}
				time.Sleep(50 * time.Millisecond) // signals of one kind that come at once are one
			}
			if code := r.wait(t); code != 130 {
				t.Errorf("exit %d, want 130: %s", code, &r.stderr)
			}
			r.nothingLeft(t, false)
			if x.times > 1 {
				return
			}
			if s := r.stderr.String(); !strings.Contains(s, "lockbench: interrupted: ") || strings.Contains(s, "panic") {
				t.Errorf("stderr: %s", s)
			}
			b, err := os.ReadFile(out)
			if err != nil || !bytes.Contains(b, []byte(`"kind":"interrupted"`)) {
				t.Errorf("the file is not marked as interrupted: %v\n%s", err, b)
			}
		})
	}
}
