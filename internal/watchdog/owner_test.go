package watchdog

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

func TestOwnerRoundTrip(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != os.Getpid() || self.Start == 0 || self.Boot == "" || self.Space == "" {
		t.Errorf("Self() = %+v", self)
	}
	if again, err := Self(); err != nil || again != self {
		t.Errorf("Self() = %+v, then %+v, %v", self, again, err)
	}
	if got, err := ParseOwner(self.String()); err != nil || got != self {
		t.Errorf("ParseOwner(%q) = %+v, %v, want %+v", self, got, err, self)
	}
	if got := self.Labels()[OwnerLabel]; got != self.String() {
		t.Errorf("label: got %q, want %q", got, self)
	}
}

func TestParseOwnerRefuses(t *testing.T) {
	for _, s := range []string{"", "x", "m/b/s/1", "m/b/s/1/2/3", "/b/s/1/2", "m//s/1/2", "m/b//1/2", "m/b/s/0/2", "m/b/s/-1/2", "m/b/s/x/2", "m/b/s/1/-2"} {
		if o, err := ParseOwner(s); !errors.Is(err, ErrOwner) {
			t.Errorf("ParseOwner(%q) = %+v, %v, want %v", s, o, err, ErrOwner)
		}
	}
}

func TestDead(t *testing.T) {
	self := Owner{"m", "b", "s", 10, 100}
	running := func(pid int, start uint64) bool { return pid == 20 && start == 200 }
	for _, c := range []struct {
		name string
		o    Owner
		want bool
	}{
		{"runs", Owner{"m", "b", "s", 20, 200}, false},
		{"has ended", Owner{"m", "b", "s", 21, 200}, true},
		{"its number is another's now", Owner{"m", "b", "s", 20, 199}, true},
		{"before the last boot", Owner{"m", "a", "s", 20, 200}, true},
		{"before the last boot, in a container", Owner{"m", "a", "r", 20, 200}, true},
		{"in a container of its own", Owner{"m", "b", "r", 21, 200}, false},
		{"on another machine", Owner{"n", "b", "s", 21, 200}, false},
		{"on another machine, booted at another time", Owner{"n", "a", "s", 21, 200}, false},
	} {
		if got := c.o.dead(self, running); got != c.want {
			t.Errorf("%s: %v: dead: got %v, want %v", c.name, c.o, got, c.want)
		}
	}
}

func TestRuns(t *testing.T) {
	c := exec.Command(os.Args[0], "sleeper")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	start, err := startTime(pid)
	if err != nil {
		t.Error(err)
	}
	if !runs(pid, start) {
		t.Errorf("process %d that started at %d does not run", pid, start)
	}
	if runs(pid, start+1) {
		t.Errorf("process %d runs as one that started at another time", pid)
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // killed
	if runs(pid, start) {
		t.Errorf("process %d runs after its end", pid)
	}
}
