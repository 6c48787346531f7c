package watchdog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestParentEnds: however it does, nothing is left, and nothing is said.
func TestParentEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(f *family) error
	}{
		{"kill -9", func(f *family) error { return f.cmd.Process.Kill() }},
		{"kill -9 of its group", func(f *family) error { return syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) }},
		{"interrupt at the terminal", func(f *family) error { return syscall.Kill(-f.cmd.Process.Pid, syscall.SIGINT) }},
		{"hang-up of the terminal", func(f *family) error { return syscall.Kill(-f.cmd.Process.Pid, syscall.SIGHUP) }},
		{"exit without a word", func(f *family) error { _, err := io.WriteString(f.stdin, "exit\n"); return err }},
		{"close with things left", func(f *family) error { _, err := io.WriteString(f.stdin, "close\n"); return err }},
		{"all are asked to end", func(f *family) error {
			for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
				if err := syscall.Kill(f.Dog, s); err != nil {
					return err
				}
			}
			return f.cmd.Process.Signal(syscall.SIGTERM)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := startFamily(t)
			if err := c.end(f); err != nil {
				t.Error(err)
			}
			if said := f.end(t); said != "" {
				t.Errorf("said %q", said)
			}
			f.gone(t)
		})
	}
}

func startDog(t *testing.T) *Watchdog {
	t.Helper()
	w, err := Start([]string{os.Args[0], "watchdog"}, Options{Dirs: []string{t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestCloseEndsTheProcess(t *testing.T) {
	w := startDog(t)
	pid := w.cmd.Process.Pid
	start, err := startTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	forget, err := w.Hold(KindContainer, "lockbench-never-made")
	if err != nil {
		t.Fatal(err)
	}
	forget()
	forget()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if runs(pid, start) {
		t.Errorf("the watchdog, process %d, still runs", pid)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := w.Hold(KindContainer, "late"); !errors.Is(err, ErrEnded) {
		t.Errorf("hold after close: got %v, want %v", err, ErrEnded)
	}
}

func TestCloseSaysWhatIsLeft(t *testing.T) {
	w := startDog(t)
	outside := t.TempDir() // a sibling of the one that paths may be in
	if _, err := w.Hold(KindPath, outside); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), outside) {
		t.Errorf("got %v, want an error that names %s", err, outside)
	}
}

// What cannot be held must not be made.
func TestHoldAfterTheWatchdogsDeath(t *testing.T) {
	w := startDog(t)
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.ended
	if _, err := w.Hold(KindContainer, "late"); !errors.Is(err, ErrEnded) {
		t.Errorf("hold: got %v, want %v", err, ErrEnded)
	}
	if _, err := w.HoldProcess(os.Getpid()); !errors.Is(err, ErrEnded) {
		t.Errorf("hold a process: got %v, want %v", err, ErrEnded)
	}
	if err := w.Close(); !errors.Is(err, ErrEnded) {
		t.Errorf("close: got %v, want %v", err, ErrEnded)
	}
}

func TestHoldRefuses(t *testing.T) {
	w := startDog(t)
	for _, c := range [][2]string{{KindContainer, ""}, {KindContainer, "a/b"}, {KindPath, "relative"}, {"thing", "xx"}, {KindProcess, "xx"}} {
		if _, err := w.Hold(c[0], c[1]); !errors.Is(err, errMessage) {
			t.Errorf("Hold(%q, %q): got %v, want %v", c[0], c[1], err, errMessage)
		}
	}
	if err := w.Close(); err != nil {
		t.Errorf("nothing was held: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	for _, argv := range [][]string{nil, {"/does/not/exist"}, {os.Args[0], "mute"}, {os.Args[0], "babbler"}} {
		if w, err := Start(argv, Options{}); err == nil {
			t.Errorf("Start(%v) succeeded", argv)
			_ = w.Close()
		} else if !strings.HasPrefix(err.Error(), "start the watchdog: ") {
			t.Errorf("Start(%v): got %v", argv, err)
		}
	}
}

// TestNonsenseOnThePipe: what is understood is held and removed all the same.
func TestNonsenseOnThePipe(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/file"
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, m := range []message{{Op: opHello, Owner: testOwner.String(), Dirs: []string{dir}}, {Op: opHold, ID: 1, Kind: KindPath, Name: path}} {
		line, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(line)
	}
	in.WriteString("nonsense\n" + strings.Repeat("long", maxMessage) + "\n" + `{"v":1,"op":"hello","owner":"m/b/s/7/9"}` + "\n" + `{"v":1,"op":"dro`)
	var out bytes.Buffer
	left := watch(&in, &out)
	if len(left) != 3 {
		t.Errorf("left %q, want three complaints", left)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v, want it gone", path, err)
	}
	if left := watch(strings.NewReader(""), io.Discard); len(left) != 0 {
		t.Errorf("an empty pipe: left %q", left)
	}
	if left := watch(strings.NewReader("x\n"), io.Discard); len(left) != 1 {
		t.Errorf("no greeting: left %q, want one complaint", left)
	}
}
