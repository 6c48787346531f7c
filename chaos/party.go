package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockbench/chaos/actor"
	"lockbench/chaos/proxy"
	"lockbench/internal/clock"
)

// Party is one client process of a round: the holder, the next in line, or the second. A process
// outlives its round, and is then another party of another one, unless it was killed.
//
//	started --ready--> idle --begin--> in a round --end--> idle
//	in a round: running <--Stop, Continue--> stopped; any --Kill, crash--> gone
type Party struct {
	Name string // "holder", "next", "second"

	proc    *process
	Net     *proxy.Set // between it and its servers; nil: none
	servers []string   // the addresses that its proxies lead to
	since   int        // index in the process's log of the round's first event
	pause   []span     // when it was stopped
	ended   int64      // stamp just before it was killed; 0: it was not
}

// span is an interval of the shared clock; To 0: it goes on.
type span struct{ From, To int64 }

// process is a child and what it has told.
type process struct {
	cmd    *exec.Cmd
	conn   *actor.Conn
	stdin  *os.File
	index  int // its actors are workers index*MaxActors and on
	pid    int
	forget func()
	stderr *tail

	mu     sync.Mutex
	log    []actor.Event
	gone   bool          // its output has ended
	more   chan struct{} // closed and replaced whenever log or gone changes
	waited chan struct{} // closed when the process has been waited for
	nextID int
}

// errGone is the end of a client process.
var errGone = errors.New("the client process has ended")

// read takes events in until the stream ends.
func (p *process) read(out *os.File) {
	defer out.Close()
	for {
		e, err := p.conn.Receive()
		p.mu.Lock()
		if err != nil {
			p.gone = true
		} else {
			p.log = append(p.log, e)
		}
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// PID is the process's number.
func (p *Party) PID() int { return p.proc.pid }

// Worker is the index of one of its actors among all workers of the run.
func (p *Party) Worker(a int) int { return p.proc.index*actor.MaxActors + a }

// Gone reports whether the process has ended.
func (p *Party) Gone() bool {
	p.proc.mu.Lock()
	defer p.proc.mu.Unlock()
	return p.proc.gone
}

// send gives it a command and returns its number.
func (p *Party) send(c actor.Command) (int, error) {
	p.proc.mu.Lock()
	p.proc.nextID++
	c.ID = p.proc.nextID
	p.proc.mu.Unlock()
	if err := p.proc.conn.Send(c); err != nil {
		return 0, fmt.Errorf("tell %s to %s: %w", p.Name, c.Do, err)
	}
	return c.ID, nil
}

// events are those of the round so far.
func (p *Party) events() []actor.Event {
	p.proc.mu.Lock()
	defer p.proc.mu.Unlock()
	return slices.Clone(p.proc.log[min(p.since, len(p.proc.log)):])
}

// await returns the round's first event that ok accepts. It fails when ctx ends, or the process.
func (p *Party) await(ctx context.Context, ok func(actor.Event) bool) (actor.Event, error) {
	for at := p.since; ; {
		p.proc.mu.Lock()
		log, gone, more := p.proc.log, p.proc.gone, p.proc.more
		p.proc.mu.Unlock()
		for ; at < len(log); at++ {
			if ok(log[at]) {
				return log[at], nil
			}
		}
		if gone {
			return actor.Event{}, fmt.Errorf("%s: %w", p.Name, errGone)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return actor.Event{}, fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
		}
	}
}

// awaitOf is await for an actor's events of some kinds.
func (p *Party) awaitOf(ctx context.Context, a int, kinds ...string) (actor.Event, error) {
	return p.await(ctx, func(e actor.Event) bool { return e.Actor == a && slices.Contains(kinds, e.Ev) })
}

// awaitID is await for an event that answers a command; one of EvFailed and EvRefused is an error.
func (p *Party) awaitID(ctx context.Context, id int, kinds ...string) (actor.Event, error) {
	e, err := p.await(ctx, func(e actor.Event) bool {
		return e.ID == id && (slices.Contains(kinds, e.Ev) || e.Ev == actor.EvFailed)
	})
	if err == nil && e.Ev == actor.EvFailed && !slices.Contains(kinds, actor.EvFailed) {
		err = fmt.Errorf("%s: %s: %s", p.Name, e.Class, e.Text)
	}
	return e, err
}

// skip forgets the events so far.
func (p *Party) skip() {
	p.proc.mu.Lock()
	defer p.proc.mu.Unlock()
	p.since = len(p.proc.log)
}

// find returns the round's last event of an actor of that kind.
func (p *Party) find(a int, kind string) (actor.Event, bool) {
	all := p.events()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Actor == a && all[i].Ev == kind {
			return all[i], true
		}
	}
	return actor.Event{}, false
}

// Kill ends the process with SIGKILL and returns when it is gone. Its claims end at the stamp taken before.
func (p *Party) Kill() error {
	if p.ended == 0 {
		p.ended = clock.Shared()
	}
	if err := syscall.Kill(p.proc.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", p.Name, err)
	}
	return nil
}

// Died waits until the process has been waited for, and says how it ended.
func (p *Party) Died(ctx context.Context) (string, error) {
	select {
	case <-p.proc.waited:
		return fmt.Sprintf("process %d: %s", p.proc.pid, p.proc.cmd.ProcessState), nil
	case <-ctx.Done():
		return "", fmt.Errorf("%s still runs", p.Name)
	}
}

// Stop stops the process where it is (SIGSTOP).
func (p *Party) Stop() error {
	p.pause = append(p.pause, span{From: clock.Shared()})
	if err := syscall.Kill(p.proc.pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	return nil
}

// Continue lets a stopped process go on. One that runs, or is gone, is left alone.
func (p *Party) Continue() error {
	if n := len(p.pause); n > 0 && p.pause[n-1].To == 0 {
		p.pause[n-1].To = clock.Shared()
	}
	if err := syscall.Kill(p.proc.pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("continue %s: %w", p.Name, err)
	}
	return nil
}

// Stopped waits until the kernel says that all of the process stands still.
func (p *Party) Stopped(ctx context.Context) (string, error) {
	return p.awaitState(ctx, func(s byte) bool { return s == 'T' })
}

// Running waits until the kernel says that it does not stand still.
func (p *Party) Running(ctx context.Context) error {
	_, err := p.awaitState(ctx, func(s byte) bool { return s != 'T' })
	return err
}

func (p *Party) awaitState(ctx context.Context, ok func(byte) bool) (string, error) {
	for {
		s, err := processState(p.proc.pid)
		if err == nil && ok(s) {
			return fmt.Sprintf("process %d is in state %c", p.proc.pid, s), nil
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // it has ended: nothing will change
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(fmt.Errorf("process %d is in state %c", p.proc.pid, s), err)
		case <-time.After(time.Millisecond):
		}
	}
}

// tail keeps the end of what a process writes to its error stream.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
