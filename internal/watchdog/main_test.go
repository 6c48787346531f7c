package watchdog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the watchdog, the parent that is killed, and its child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "watchdog":
			os.Exit(Main(os.Stdin, os.Stdout, os.Stderr))
		case "parent":
			os.Exit(parent())
		case "docker-parent":
			os.Exit(dockerParentMain())
		case "sleeper":
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // a request is not enough
			time.Sleep(10 * time.Minute)                                   // a guard: it is killed
			os.Exit(9)
		case "mute":
			os.Exit(3)
		case "babbler":
			fmt.Println("hello")
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// made is what the parent has, and tells the test.
type made struct {
	Dog      int
	Children []message // PID, Start; the second is stopped
	Free     message   // a child that has been taken back
	Path     string
}

// parent starts a watchdog and things for it to remove, says so on its standard output, and waits
// for a line: "exit" ends it without a word to the watchdog, "close" in order, with what is still there.
func parent() int {
	m, w, err := makeThings()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parent:", err)
		return 8
	}
	if json.NewEncoder(os.Stdout).Encode(m) != nil {
		return 7
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n') // its end is an order too
	if strings.TrimSpace(line) == "close" {
		if err := w.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "parent: close:", err)
			return 6
		}
	}
	return 0
}

func makeThings() (made, *Watchdog, error) {
	var m made
	w, err := Start([]string{os.Args[0], "watchdog"}, Options{Stderr: os.Stderr})
	if err != nil {
		return m, nil, err
	}
	m.Dog = w.cmd.Process.Pid
	for i := range 3 {
		c := exec.Command(os.Args[0], "sleeper")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as lockbench does
		if err := c.Start(); err != nil {
			return m, nil, err
		}
		forget, err := w.HoldProcess(c.Process.Pid)
		if err != nil {
			return m, nil, err
		}
		start, err := startTime(c.Process.Pid)
		if err != nil {
			return m, nil, err
		}
		p := message{PID: c.Process.Pid, Start: start}
		switch i {
		case 0:
			m.Children = append(m.Children, p)
		case 1:
			m.Children = append(m.Children, p)
			err = c.Process.Signal(syscall.SIGSTOP)
		case 2:
			forget()
			m.Free = p
		}
		if err != nil {
			return m, nil, err
		}
	}
	dir, err := os.MkdirTemp("", "lockbench-watchdog-test-")
	if err != nil {
		return m, nil, err
	}
	m.Path = dir
	if _, err := w.Hold(KindPath, dir); err != nil {
		return m, nil, err
	}
	return m, w, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
}

// family is a parent under test. Its standard error stream is the watchdog's too: at its end both have ended.
type family struct {
	made
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *os.File
}

func startFamily(t *testing.T) *family {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &family{cmd: exec.Command(os.Args[0], "parent"), stderr: r}
	f.cmd.Stderr = w
	// A group of its own, as at a terminal.
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	f.stdin, err = f.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.cmd.Start(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(stdout).Decode(&f.made); err != nil {
		_ = f.cmd.Process.Kill()
		said, _ := io.ReadAll(r)
		t.Fatalf("parent: %v, it said %q", err, said)
	}
	t.Cleanup(func() {
		if err := kill(f.Free.PID, f.Free.Start); err != nil {
			t.Error(err)
		}
		_ = r.Close()
	})
	return f
}

// end waits until parent and watchdog have ended, and returns what they said.
func (f *family) end(t *testing.T) string {
	t.Helper()
	if err := f.stderr.SetReadDeadline(time.Now().Add(2 * cleanTime)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(f.stderr)
	if err != nil {
		t.Fatalf("wait for the watchdog's end: %v; it said %q", err, said)
	}
	_ = f.cmd.Wait() // killed, or not
	return string(said)
}

// gone checks that nothing is left, and that nothing else was touched.
func (f *family) gone(t *testing.T) {
	t.Helper()
	for i, c := range f.Children {
		if runs(c.PID, c.Start) {
			t.Errorf("child %d, process %d, still runs", i, c.PID)
			_ = kill(c.PID, c.Start)
		}
	}
	if _, err := os.Lstat(f.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v, want it gone", f.Path, err)
		_ = os.RemoveAll(f.Path)
	}
	if !runs(f.Free.PID, f.Free.Start) {
		t.Errorf("process %d, which had been taken back, does not run any more", f.Free.PID)
	}
}
