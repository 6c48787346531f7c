package chaos

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/chaos/actor"
)

// poolOf is the place for processes of a rig's run, which has no cells.
func poolOf(t *testing.T, r *rig) *pool {
	t.Helper()
	x := &run{o: r.o, id: r.o.RunID}
	if err := x.prepare(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.close(); err != nil {
			t.Error(err)
		}
	})
	return x.pool
}

func getProcess(t *testing.T, p *pool, name string) *process {
	t.Helper()
	c, err := p.get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPool: a process that a round has left well is used again by rounds of the same lock; all others are ended.
func TestPool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := poolOf(t, r)
	a, b := getProcess(t, p, "control-ttl"), getProcess(t, p, "control-ttl")
	if a == b || a.index == b.index || a.pid == b.pid {
		t.Fatalf("two rounds share process %d", a.pid)
	}
	p.put("control-ttl", a, true)
	if c := getProcess(t, p, "control-perfect"); c == a {
		t.Error("a process of another lock was given")
	}
	if c := getProcess(t, p, "control-ttl"); c != a || len(c.log) != 0 {
		t.Errorf("got process %d with %d events, want %d, which is idle", c.pid, len(c.log), a.pid)
	}
	p.put("control-ttl", a, false) // a round that did not end well
	<-a.waited
	c := getProcess(t, p, "control-ttl")
	if c == a || c.index != a.index {
		t.Errorf("got process %d at place %d, want another one at place %d", c.pid, c.index, a.index)
	}
	// One that has ended while it was idle is not given out.
	p.put("control-ttl", c, true)
	dead := &Party{Name: "it", proc: c}
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	if said, err := dead.Died(t.Context()); err != nil || !strings.Contains(said, "killed") {
		t.Errorf("got %q, %v", said, err)
	}
	if _, err := dead.await(t.Context(), func(actor.Event) bool { return false }); !errors.Is(err, errGone) {
		t.Errorf("waiting for the dead: got %v", err)
	}
	if d := getProcess(t, p, "control-ttl"); d == c {
		t.Error("a dead process was given")
	}
	if n := r.held; n != 3 {
		t.Errorf("the watchdog holds %d processes, want 3", n)
	}
}

// TestPoolThatCannotStart: what cannot be started, or held, or says nothing, is an error that says why, and leaves room
// for others.
func TestPoolThatCannotStart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		change func(r *rig)
		lock   string
		err    string
	}{
		{"no program", func(r *rig) { r.o.ClientArgv = []string{filepath.Join(r.o.TempDir, "none")} }, "control-ttl", "no such file"},
		{"it cannot be started", func(r *rig) { r.o.Start = func(*exec.Cmd) error { return errPlanted } }, "control-ttl", "planted"},
		{"it cannot be held", func(r *rig) { r.o.Hold = func(int) (func(), error) { return nil, errPlanted } }, "control-ttl", "planted"},
		{"it says nothing", func(r *rig) { r.o.ClientArgv[1] = "chaos-mute" }, "control-ttl", `the client process has ended (it said: "no word\n")`},
		{"no such lock", func(*rig) {}, "control-tll", `no lock \"control-tll\"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x.change(r)
			p := poolOf(t, r)
			for range 3 {
				if _, err := p.get(t.Context(), x.lock); err == nil || !strings.Contains(err.Error(), x.err) || !strings.HasPrefix(err.Error(), "start a client process: ") {
					t.Errorf("got %v, want an error with %q", err, x.err)
				}
			}
			if p.next != 1 || len(p.free) != 1 || len(p.running) != 0 {
				t.Errorf("%d places were used, %d are free, %d processes run", p.next, len(p.free), len(p.running))
			}
		})
	}
}

// TestPoolIsBounded: there are claims for so many processes only.
func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := poolOf(t, r)
	p.next = maxProcesses
	if _, err := p.get(t.Context(), "control-ttl"); err == nil || !strings.Contains(err.Error(), "client processes at a time") {
		t.Errorf("got %v", err)
	}
	p.free = append(p.free, 3)
	if c := getProcess(t, p, "control-ttl"); c.index != 3 {
		t.Errorf("got place %d, want the one that was free", c.index)
	}
}

// TestParty: a process is stopped, goes on, and is killed, and the kernel is asked whether that is so.
func TestParty(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := poolOf(t, r)
	who := &Party{Name: "holder", proc: getProcess(t, p, "control-ttl")}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if said, err := who.Stopped(ended); err == nil {
		t.Errorf("it runs, and is said to stand still: %q", said)
	}
	if said, err := who.Died(ended); err == nil {
		t.Errorf("it runs, and is said to be dead: %q", said)
	}
	if err := who.Stop(); err != nil {
		t.Fatal(err)
	}
	if said, err := who.Stopped(t.Context()); err != nil || !strings.HasSuffix(said, "in state T") {
		t.Errorf("got %q, %v", said, err)
	}
	if err := who.Running(ended); err == nil {
		t.Error("it stands still, and is said to run")
	}
	// A command waits until it goes on.
	id, err := who.send(actor.Command{Do: actor.DoHangup})
	if err != nil {
		t.Fatal(err)
	}
	if err := who.Continue(); err != nil {
		t.Fatal(err)
	}
	if err := who.Running(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := who.awaitID(t.Context(), id, actor.EvClosed); err != nil {
		t.Error(err)
	}
	if n := len(who.pause); n != 1 || who.pause[0].To <= who.pause[0].From {
		t.Errorf("it stood still in %v", who.pause)
	}
	if err := who.Continue(); err != nil || who.pause[0].To == 0 { // it runs: nothing
		t.Errorf("got %v", err)
	}
	// Answers to other commands, and failures, are told apart.
	id, err = who.send(actor.Command{Do: actor.DoValue, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := who.awaitID(t.Context(), id, actor.EvValue); err == nil || !strings.HasPrefix(err.Error(), "holder: ") {
		t.Errorf("a value without a server: got %v", err)
	}
	if err := who.Kill(); err != nil {
		t.Fatal(err)
	}
	at := who.ended
	if _, err := who.Died(t.Context()); err != nil {
		t.Error(err)
	}
	if err := who.Kill(); err != nil || who.ended != at || at == 0 {
		t.Errorf("killed again: got %v, and the stamp is %d, then %d", err, at, who.ended)
	}
	if err := who.Continue(); err != nil {
		t.Errorf("the dead: %v", err)
	}
	if _, err := who.awaitOf(t.Context(), 0, actor.EvGranted); !errors.Is(err, errGone) || !who.Gone() {
		t.Errorf("got %v, gone %v", err, who.Gone())
	}
}

// TestTail: the end of what a process has said.
func TestTail(t *testing.T) {
	var s tail
	for range 3 {
		if n, err := s.Write([]byte(strings.Repeat("x", tailBytes-1) + "\n")); n != tailBytes || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := s.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if got := s.String(); len(got) != tailBytes || !strings.HasSuffix(got, "x\nthe end") {
		t.Errorf("%d bytes, ending with %q", len(got), got[max(0, len(got)-10):])
	}
}
