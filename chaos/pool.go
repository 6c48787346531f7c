package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"lockbench/chaos/actor"
	"lockbench/internal/claims"
)

// maxProcesses is how many client processes may be there at a time, by the room for their actors' claims.
const maxProcesses = claims.MaxWorkers / actor.MaxActors

// startAtOnce is how many are started at a time: each takes some 20 ms of a processor.
const startAtOnce = 4

// startTime bounds a child's start, of some 20 ms on an idle machine.
const startTime = 20 * time.Second

// pool starts client processes and keeps those that a round has left well.
type pool struct {
	argv    []string
	start   func(*exec.Cmd) error
	hold    func(pid int) (forget func(), err error)
	arena   string
	witness string

	gate chan struct{} // room for one that is being started

	mu      sync.Mutex
	idle    map[string][]*process // by lock
	free    []int                 // indexes given back
	next    int
	running map[*process]struct{}
}

// get returns a process for a lock, an idle one if there is one.
func (p *pool) get(ctx context.Context, lock string) (*process, error) {
	p.mu.Lock()
	for n := len(p.idle[lock]); n > 0; n-- {
		c := p.idle[lock][n-1]
		p.idle[lock] = p.idle[lock][:n-1]
		c.mu.Lock()
		gone := c.gone
		c.mu.Unlock()
		if !gone {
			p.mu.Unlock()
			return c, nil
		}
		p.drop(c)
	}
	index := p.next
	if n := len(p.free); n > 0 {
		index, p.free = p.free[n-1], p.free[:n-1]
	} else {
		p.next++
	}
	p.mu.Unlock()
	if index >= maxProcesses {
		return nil, fmt.Errorf("more than %d client processes at a time", maxProcesses)
	}
	p.gate <- struct{}{}
	c, err := p.launch(ctx, lock, index)
	<-p.gate
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.free = append(p.free, index)
		return nil, fmt.Errorf("start a client process: %w", err)
	}
	p.running[c] = struct{}{}
	return c, nil
}

func (p *pool) launch(ctx context.Context, lock string, index int) (*process, error) {
	c := &process{index: index, stderr: &tail{}, more: make(chan struct{}), waited: make(chan struct{})}
	c.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	c.cmd.Stderr = c.stderr
	c.cmd.WaitDelay = time.Second
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), in.Close(), stdin.Close())
	}
	c.cmd.Stdin, c.cmd.Stdout, c.stdin = in, stdout, stdin
	err = p.start(c.cmd)
	_, _ = in.Close(), stdout.Close() // the child has them, or nobody
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), out.Close())
	}
	c.pid = c.cmd.Process.Pid
	c.forget = func() {}
	if p.hold != nil {
		if c.forget, err = p.hold(c.pid); err != nil {
			_ = c.cmd.Process.Kill() // it has just been started by us
			_ = c.cmd.Wait()
			return nil, errors.Join(err, stdin.Close(), out.Close())
		}
	}
	c.conn = actor.NewConn(out, stdin)
	go c.read(out)
	go func() {
		_ = c.cmd.Wait() // how it ended is in ProcessState
		close(c.waited)
	}()
	setup, err := json.Marshal(actor.Setup{Lock: lock, Arena: p.arena, Witness: p.witness})
	if err == nil {
		_, err = stdin.Write(append(setup, '\n'))
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		_, err = (&Party{Name: "the process", proc: c}).await(ctx, func(e actor.Event) bool { return e.Ev == actor.EvReady })
	}
	if err != nil {
		c.end()
		return nil, fmt.Errorf("%w (it said: %q)", err, c.stderr.String())
	}
	return c, nil
}

// end makes sure that the process is gone.
func (c *process) end() {
	_ = c.stdin.Close()                      // closed before, perhaps
	_ = syscall.Kill(c.pid, syscall.SIGCONT) // fails if it has ended
	_ = syscall.Kill(c.pid, syscall.SIGKILL)
	<-c.waited
	c.forget()
}

// put takes a process back whose round has ended. One that is gone, or unfit, makes room for another.
func (p *pool) put(lock string, c *process, fit bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	gone := c.gone
	c.log = nil
	c.mu.Unlock()
	if gone || !fit {
		p.drop(c)
		return
	}
	p.idle[lock] = append(p.idle[lock], c)
}

// drop ends a process and gives its index back. p.mu is held.
func (p *pool) drop(c *process) {
	if _, ok := p.running[c]; !ok {
		return
	}
	delete(p.running, c)
	c.end()
	p.free = append(p.free, c.index)
}

// close ends all processes.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.running {
		p.drop(c)
	}
	clear(p.idle)
}
