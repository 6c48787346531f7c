package zkrecipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"lockbench/chaos/actor"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/impls/distributed/zookeeper"
	"lockbench/lock"
)

// victimLock finds the lock of a client process: the library's, or the one that is the control.
func victimLock(name string) (lock.Info, error) {
	for _, i := range append(zkrecipe.Infos(), zookeeper.Infos()...) {
		if i.Name == name {
			return i, nil
		}
	}
	return lock.Info{}, errors.New("no such lock")
}

// victim is a client process with one user of a lock, which can be stopped as a whole. What a
// collector's pause, a swapping machine or a virtual machine that is moved does to a client is the same.
type victim struct {
	cmd    *exec.Cmd
	conn   *actor.Conn
	in     io.Closer
	stderr bytes.Buffer
	ids    int
}

// newVictim starts one and connects it. It ends with the test.
func newVictim(t *testing.T, lockName, arena string, target lock.Target) (*victim, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	v := &victim{cmd: exec.Command(exe)}
	v.cmd.Env = append(os.Environ(), victimEnv+"=1")
	v.cmd.Stderr = &v.stderr
	stdin, err := v.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := v.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a client process: %w", err)
	}
	v.in = stdin
	t.Cleanup(func() { v.end(t) })
	v.conn = actor.NewConn(out, stdin)
	if err := v.conn.Begin(actor.Setup{Lock: lockName, Arena: arena}); err != nil {
		return nil, err
	}
	target.Meter = nil
	if err := v.send(actor.Command{Do: actor.DoDial, Target: &target}); err != nil {
		return nil, err
	}
	_, err = v.await(actor.EvDialled)
	return v, err
}

// end closes its input, at which it closes its client and exits.
func (v *victim) end(t *testing.T) {
	_ = v.cmd.Process.Signal(syscall.SIGCONT)
	_ = v.in.Close()
	if err := v.cmd.Wait(); err != nil {
		t.Errorf("client process %d: %v: %s", v.cmd.Process.Pid, err, v.stderr.String())
	}
}

func (v *victim) send(c actor.Command) error {
	v.ids++
	c.ID = v.ids
	return v.conn.Send(c)
}

// await reads events until one of the kinds; actor.EvFailed is an error.
func (v *victim) await(kinds ...string) (actor.Event, error) {
	for {
		e, err := v.conn.Receive()
		if err != nil {
			return e, fmt.Errorf("wait for %v: %w", kinds, err)
		}
		if e.Ev == actor.EvFailed {
			return e, fmt.Errorf("wait for %v: it failed: %s", kinds, e.Text)
		}
		for _, k := range kinds {
			if e.Ev == k {
				return e, nil
			}
		}
	}
}

// once acquires and releases.
func (v *victim) once(acquire actor.Command) error {
	if err := v.send(acquire); err != nil {
		return err
	}
	e, err := v.await(actor.EvEntered, actor.EvRefused)
	if err == nil && e.Ev == actor.EvRefused {
		err = errors.New(e.Text)
	}
	if err != nil {
		return err
	}
	if err := v.send(actor.Command{Do: actor.DoRelease}); err != nil {
		return err
	}
	if e, err = v.await(actor.EvReleased); err == nil && e.Class != actor.ClassOK {
		err = errors.New(e.Text)
	}
	return err
}

// stop stops the process, and returns when the kernel says that it stands.
func (v *victim) stop() error {
	pid := v.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	var s syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &s, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait until process %d stands: %w", pid, err)
		case !s.Stopped():
			return fmt.Errorf("process %d has ended: %v", pid, s)
		default:
			return nil
		}
	}
}

func (v *victim) goOn() error { return v.cmd.Process.Signal(syscall.SIGCONT) }
