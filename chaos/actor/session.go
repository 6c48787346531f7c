package actor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/internal/clock"
	"lockbench/lock"
)

// session is what lies between DoDial and DoHangup: a client and the actors that use it.
//
//	dialling --client--> open --close--> retired: what still comes back is thrown away --> closed
//	dialling --error--> failed, and the next DoDial takes its place
type session struct {
	p      *process
	ctx    context.Context // ends when the session does
	cancel context.CancelFunc
	jobs   sync.WaitGroup // commands under way
	actors [MaxActors]*actor

	ready  chan struct{} // closed when what follows is set
	client lock.Client
	leaser lock.Leaser     // or nil
	opt    lock.Optimistic // or nil
	err    error           // of the dial

	preparing chan struct{} // has room for the one that prepares
	prepared  map[string]bool

	// mu is held for reading while an event is given and while an actor's hold is set.
	mu      sync.RWMutex
	retired bool
	closed  chan struct{}
}

func newSession(p *process) *session {
	s := &session{p: p, ready: make(chan struct{}), closed: make(chan struct{}), preparing: make(chan struct{}, 1), prepared: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i := range s.actors {
		s.actors[i] = &actor{s: s, n: i}
	}
	return s
}

// say gives an event out before it returns, unless the session is over.
func (s *session) say(e Event) { s.give(e, s.p.out.now) }

// sayLater gives an event out in its time.
func (s *session) sayLater(e Event) { s.give(e, s.p.out.later) }

func (s *session) give(e Event, how func(Event)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.retired {
		how(e)
	}
}

// fail tells that a command failed.
func (s *session) fail(c Command, err error) {
	s.say(Event{Ev: EvFailed, ID: c.ID, Actor: c.Actor, Class: ClassOf(err), Text: err.Error()})
}

// dial connects, as soon as the session before is closed.
func (s *session) dial(c Command, before <-chan struct{}) {
	defer close(s.ready)
	<-before
	// Dial bounds itself; twice as long is for one that does not.
	ctx, cancel := context.WithTimeout(s.ctx, 2*c.Target.DialTimeout)
	defer cancel()
	if s.err = s.open(ctx, *c.Target); s.err != nil {
		s.fail(c, s.err)
		return
	}
	s.say(Event{Ev: EvDialled, ID: c.ID, Actor: c.Actor})
}

func (s *session) open(ctx context.Context, t lock.Target) error {
	info := s.p.info
	client, err := info.Dial(ctx, t)
	if err != nil {
		return fmt.Errorf("dial %s: %w", info.Name, err)
	}
	s.leaser, _ = client.(lock.Leaser)
	s.opt, _ = client.(lock.Optimistic)
	if s.leaser == nil && s.opt == nil {
		return errors.Join(fmt.Errorf("lock %s: its client is not what its kind says", info.Name), client.Close())
	}
	s.client = client
	return nil
}

// dialled waits until the session is open.
func (s *session) dialled() error {
	<-s.ready
	if s.err != nil {
		return fmt.Errorf("there is no connection: %w", s.err)
	}
	return s.ctx.Err()
}

// failed reports whether the dial has failed.
func (s *session) failed() bool {
	select {
	case <-s.ready:
		return s.err != nil
	default:
		return false
	}
}

// prepareLimit bounds making what must be there before a key is used.
const prepareLimit = 5 * time.Second

// prepare makes what the service must have for the key, once. Clients may do that at the same
// time: what is there already is no error to them.
func (s *session) prepare(ctx context.Context, key string) error {
	p, ok := s.client.(lock.Preparer)
	if !ok {
		return nil
	}
	select {
	case s.preparing <- struct{}{}:
		defer func() { <-s.preparing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.prepared[key] {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	if err := p.Prepare(ctx, []string{key}); err != nil {
		return fmt.Errorf("prepare key %s: %w", key, err)
	}
	s.prepared[key] = true
	return nil
}

// value is DoValue.
func (s *session) value(c Command) {
	v, at, err := s.read(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	s.say(Event{Ev: EvValue, ID: c.ID, Actor: c.Actor, AtNS: at, Value: v})
}

func (s *session) read(c Command) (v, at int64, err error) {
	if err := s.dialled(); err != nil {
		return 0, 0, err
	}
	r, ok := s.client.(lock.Valuer)
	if !ok {
		return 0, 0, fmt.Errorf("lock %s keeps no values: %w", s.p.info.Name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit(c.LimitNS, CallLimit))
	defer cancel()
	if err := s.prepare(ctx, c.Key); err != nil {
		return 0, 0, err
	}
	v, err = r.Value(ctx, c.Key)
	return v, clock.Shared(), err
}

// close ends the session within a time, half of which its commands have to end. tell is given its last event.
func (s *session) close(within time.Duration, tell func(Event)) {
	defer close(s.closed)
	s.cancel()
	due := time.Now().Add(within)
	idle := make(chan struct{})
	go func() { s.jobs.Wait(); close(idle) }()
	quiet := before(idle, time.Now().Add(within/2))
	for _, h := range s.retire() {
		h.drop(s.p.out.now)
	}
	var err error
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		if <-s.ready; s.client != nil { // it may be dialling, and then there is one to be closed all the same
			err = s.client.Close()
		}
	}()
	e := Event{Ev: EvClosed}
	switch {
	case !before(shut, due):
		e.Class, e.Text = ClassTimeout, fmt.Sprintf("the client did not close within %v", within)
	case err != nil:
		e.Class, e.Text = ClassOf(err), err.Error()
	case !quiet && !before(idle, due):
		e.Class, e.Text = ClassTimeout, fmt.Sprintf("a call of the lock did not return within %v", within)
	}
	if e.Class == ClassTimeout {
		s.p.stuck.Store(true)
	}
	tell(e)
}

// retire ends what the session's commands may still tell and claim, and returns what its actors hold.
func (s *session) retire() (held []*hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	for _, a := range s.actors {
		if a.held != nil {
			held = append(held, a.held)
		}
	}
	return held
}

// before waits for ch, until due, and reports whether it came.
func before(ch <-chan struct{}, due time.Time) bool {
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-ch:
		return true
	case <-t.C:
		return false
	}
}

// limit is a bound of a command, or the default.
func limit(ns int64, otherwise time.Duration) time.Duration {
	if ns > 0 {
		return time.Duration(ns)
	}
	return otherwise
}
