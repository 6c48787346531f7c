package actor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"lockbench/chaos/witness"
	"lockbench/internal/claims"
	"lockbench/lock"
)

// stores are the witness, as actors use it.
type stores interface {
	Read(ctx context.Context, key string, worker int, token *uint64) (witness.Op, error)
	Write(ctx context.Context, key string, worker int, token *uint64, value int64) (witness.Op, error)
	Close() error
}

var _ stores = (*witness.Client)(nil)

// process is what does not change between rounds.
type process struct {
	info   lock.Info
	arena  *claims.Arena
	stores stores // nil: there is no witness
	out    *out
	times  times

	session *session      // nil: none
	last    chan struct{} // closed when the session before is
	stuck   atomic.Bool   // a call that never returned may still use the arena
}

// How long the end of standard input leaves for closing the client, and then for everything.
const (
	endLimit  = 2 * time.Second
	exitGrace = 2 * endLimit
)

// Main is the process: it reads the setup and then commands from in, and writes events to out. When in
// ends, the parent is done with it, or dead: it closes its client, within 2 s, and the code is 0. It is 1
// after an error, which is told on standard error, and as an event if it can be. exit is called, from another
// goroutine, only if closing hangs.
func Main(lookup func(name string) (lock.Info, error), in io.Reader, out io.Writer, exit func(int)) int {
	// A parent that has died closed both pipes: telling it so must not end this process before its client is closed.
	signal.Ignore(syscall.SIGPIPE)
	if err := newProcess(out).run(lookup, in, exit); err != nil {
		fmt.Fprintln(os.Stderr, "chaos client:", err)
		return 1
	}
	return 0
}

func newProcess(w io.Writer) *process {
	p := &process{out: newOut(w), times: newTimes(), last: make(chan struct{})}
	close(p.last)
	return p
}

func (p *process) run(lookup func(name string) (lock.Info, error), in io.Reader, exit func(int)) (err error) {
	quit := make(chan struct{})
	defer close(quit)
	go p.out.run(quit)
	defer func() {
		if err != nil {
			p.out.now(Event{Ev: EvFailed, Class: ClassOf(err), Text: err.Error()})
		}
		p.out.drain()
	}()
	r := bufio.NewReader(in)
	if err := p.setUp(r, lookup); err != nil {
		return err
	}
	p.out.now(Event{Ev: EvReady, PID: os.Getpid()})
	err = p.serve(r)
	late := time.AfterFunc(exitGrace, func() { exit(1) })
	defer late.Stop()
	return errors.Join(err, p.tearDown())
}

// setUp reads the first line and opens what it names.
func (p *process) setUp(r *bufio.Reader, lookup func(name string) (lock.Info, error)) error {
	b, err := readLine(r)
	if err != nil {
		return fmt.Errorf("read the setup: %w", err)
	}
	s, err := DecodeSetup(b)
	if err != nil {
		return err
	}
	if p.info, err = lookup(s.Lock); err != nil {
		return err
	}
	if p.info.Dial == nil {
		return fmt.Errorf("lock %s cannot be dialled: %w", s.Lock, errors.ErrUnsupported)
	}
	if p.arena, err = claims.Open(s.Arena); err != nil {
		return err
	}
	if s.Witness == "" {
		return nil
	}
	c, err := witness.Dial(s.Witness)
	if err != nil {
		return errors.Join(err, p.arena.Close())
	}
	p.stores = c
	return nil
}

// serve carries out commands until in ends, or out does, or a line is none.
func (p *process) serve(r *bufio.Reader) error {
	type read struct {
		c   Command
		err error
	}
	lines, quit := make(chan read), make(chan struct{})
	defer close(quit)
	go func() {
		for {
			var l read
			b, err := readLine(r)
			if l.err = err; err == nil {
				l.c, l.err = DecodeCommand(b)
			}
			select {
			case lines <- l:
			case <-quit:
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	for {
		select {
		case l := <-lines:
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil {
				return fmt.Errorf("read a command: %w", l.err)
			}
			p.handle(l.c)
		case <-p.out.broken:
			return fmt.Errorf("tell the parent: %w", p.out.err)
		}
	}
}

// handle begins a command. It never waits for a lock's server.
func (p *process) handle(c Command) {
	s := p.session
	switch c.Do {
	case DoDial:
		if s != nil && !s.failed() {
			p.fail(c, errors.New("there is a connection already"))
			return
		}
		if s != nil {
			s.cancel()
		}
		p.session = newSession(p)
		go p.session.dial(c, p.last)
		return
	case DoHangup:
		p.hangup(c)
		return
	}
	if s == nil {
		p.fail(c, errors.New("there is no connection"))
		return
	}
	switch c.Do {
	case DoGo, DoFinish, DoCancel:
		s.actors[c.Actor].steer(c.Do)
	case DoValue:
		s.jobs.Go(func() { s.value(c) })
	default:
		if err := s.actors[c.Actor].add(c); err != nil {
			p.fail(c, err)
		}
	}
}

// fail tells that a command failed before it was begun.
func (p *process) fail(c Command, err error) {
	p.out.later(Event{Ev: EvFailed, ID: c.ID, Actor: c.Actor, Class: ClassOf(err), Text: err.Error()})
}

// hangup ends the session in the background. Without one it tells so when the last one is closed.
func (p *process) hangup(c Command) {
	tell := func(e Event) {
		e.ID, e.Actor = c.ID, c.Actor
		p.out.now(e)
	}
	if s := p.session; s != nil {
		p.session, p.last = nil, s.closed
		go s.close(CloseLimit, tell)
		return
	}
	last := p.last
	go func() { <-last; tell(Event{Ev: EvClosed}) }()
}

// tearDown closes everything.
func (p *process) tearDown() error {
	due := time.Now().Add(endLimit)
	if s := p.session; s != nil {
		s.close(endLimit, func(Event) {})
	}
	if !before(p.last, due) || p.stuck.Load() { // what was left behind may still use the arena
		return nil
	}
	var err error
	if p.stores != nil {
		err = p.stores.Close()
	}
	return errors.Join(err, p.arena.Close())
}
