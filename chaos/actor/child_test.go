package actor

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// child starts a real process.
func child(t *testing.T, s Setup) (cmd *exec.Cmd, c *Conn, in io.Closer, stderr *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	stderr = &bytes.Buffer{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
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
	c = NewConn(out, stdin)
	if err := c.Begin(s); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Receive(); err != nil || e.Ev != EvReady || e.PID != cmd.Process.Pid {
		t.Fatalf("got %+v, %v, want ready with pid %d", e, err, cmd.Process.Pid)
	}
	return cmd, c, stdin, stderr
}

// until receives events until one of that kind.
func until(t *testing.T, c *Conn, kind string) (all []Event, last Event) {
	t.Helper()
	for {
		e, err := c.Receive()
		if err != nil || e.Ev == EvFailed {
			t.Fatalf("got %+v, %v, want %s", e, err, kind)
		}
		all = append(all, e)
		if e.Ev == kind {
			return all, e
		}
	}
}

func send(t *testing.T, c *Conn, cmds ...Command) {
	t.Helper()
	for i, m := range cmds {
		m.ID = i + 1
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// A holder that is killed inside has told all that it did, and its claim stands: whoever is granted after it
// meets it. Stamps of both processes are of one clock.
func TestKilled(t *testing.T) {
	s, w := server(t), witnessOf(t)
	arena, path := arenaOf(t)
	setup := Setup{Lock: "control-perfect", Arena: path, Witness: w.Path()}
	cmd, c, _, _ := child(t, setup)
	_, next, bye, _ := child(t, setup)
	send(t, c, Command{Do: DoDial, Target: target(s.Addr())}, acquire(0), work(0, Careful))
	told, wrote := until(t, c, EvWrote)
	m := acquire(0)
	m.Worker = MaxActors
	send(t, next, Command{Do: DoDial, Target: target(s.Addr())}, m)
	_, asked := until(t, next, EvRequested)
	queued(t, s.Addr(), 1)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, granted := until(t, next, EvGranted)
	_, entered := until(t, next, EvEntered)
	for { // what the killed one has told is still there
		e, err := c.Receive()
		if err != nil {
			break
		}
		told = append(told, e)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	writes, last := 0, Event{}
	for _, e := range told {
		if e.Ev == EvWrote {
			writes, last = writes+1, e
		}
	}
	// The one that was under way may have arrived and not been told.
	seen := 0
	for _, op := range w.Log("k") {
		if op.Worker == 0 {
			seen++
		}
	}
	if seen < writes+1 || seen > writes+2 || last.Value != int64(writes) {
		t.Errorf("the witness has %d operations of it, and it told of %d writes, the last %+v", seen, writes, last)
	}
	if entered.Met != 1 {
		t.Errorf("the next one met %d, want 1: the claim of the dead", entered.Met)
	}
	if ring := arena.Ring(0); len(ring) != 1 || ring[0].Exit != 0 {
		t.Errorf("the claims of the dead: got %+v, want one that stands", ring)
	}
	if asked.AtNS <= wrote.AtNS || granted.AtNS <= asked.AtNS {
		t.Errorf("wrote at %d, the other asked at %d and was granted at %d: want them in that order", wrote.AtNS, asked.AtNS, granted.AtNS)
	}
	if err := bye.Close(); err != nil {
		t.Fatal(err)
	}
}

// The process's exit codes, and that standard output has events only.
func TestExitCodes(t *testing.T) {
	s := server(t)
	_, path := arenaOf(t)
	cmd, c, in, stderr := child(t, Setup{Lock: "control-ttl", Arena: path})
	m := acquire(0)
	m.Silent = true
	send(t, c, Command{Do: DoDial, Target: target(s.Addr())}, m)
	until(t, c, EvEntered)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if all, _ := until(t, c, EvLeft); len(all) != 1 {
		t.Errorf("got %+v", all)
	}
	if e, err := c.Receive(); err != io.EOF {
		t.Errorf("got %+v, %v, want the end", e, err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("it ended with %v, and said %q", err, stderr)
	}
	cmd, c, in, stderr = child(t, Setup{Lock: "control-ttl", Arena: path})
	if _, err := in.(io.Writer).Write([]byte("{\"do\":\"dance\"}\n")); err != nil {
		t.Fatal(err)
	}
	if e, err := c.Receive(); err != nil || e.Ev != EvFailed || e.ID != 0 {
		t.Errorf("got %+v, %v", e, err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !bytes.Contains(stderr.Bytes(), []byte(`"dance" is no command`)) {
		t.Errorf("it ended with %v, and said %q", err, stderr)
	}
}
