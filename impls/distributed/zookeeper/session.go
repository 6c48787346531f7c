package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
)

// errEnded is the answer to requests of a session that is over.
var errEnded = errors.New("the ZooKeeper session has ended")

// session is one session and the zk.Conn that it lives on.
//
//	opening --the server grants it--> open, and the driver's current one
//	opening --Target.DialTimeout, or the client is closed--> over
//	open --its connection is lost--> open; the library connects again
//	open --the deadline passes, the server says expired, or shutdown--> over
//
// The library would open another session on the same zk.Conn after an expiry, and send it
// the requests that wait, on behalf of callers who believe in the first. So
// there is no connection any more when a session is over.
type session struct {
	d      *driver
	conn   *zk.Conn
	events <-chan zk.Event // closed when the library is done
	ttl    time.Duration   // as granted
	keeper *lease.Keeper   // over: it is lost

	opened chan struct{} // closed when the server has granted the session
	closed chan struct{} // closed when shutdown has finished
	ended  context.Context
	end    context.CancelFunc // no more connections

	mu      sync.Mutex
	link    *link         // the latest connection
	lastErr error         // of connecting
	since   time.Time     // when the session was asked for
	expired bool          // the server has said so
	again   chan struct{} // closed, and made anew, when the session is connected again
	isOpen  bool
	beat    heartbeat                // of renew
	creates map[string]chan struct{} // by the id of a ticket: closed when its create is sent
}

// open asks the ensemble for a session.
func (d *driver) open(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, d.t.DialTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{d: d, opened: make(chan struct{}), closed: make(chan struct{}), again: make(chan struct{}), creates: map[string]chan struct{}{}}
	s.ended, s.end = context.WithCancel(context.Background())
	var err error
	s.conn, s.events, err = zk.Connect(d.t.Addrs, max(d.t.TTL, time.Millisecond),
		zk.WithDialer(s.dial), zk.WithHostProvider(&hosts{ended: s.ended.Done()}),
		zk.WithEventCallback(s.event), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", d.t.Addrs, err)
	}
	if err = s.greet(ctx); err != nil {
		s.end()
		s.cut()
		go s.shutdown() // it has nothing to tell anybody, and may take a second for it
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, fmt.Errorf("open a session with %v: %w", d.t.Addrs, errors.Join(err, s.lastErr))
	}
	return s, nil
}

// greet waits for the session and starts its clock.
func (s *session) greet(ctx context.Context) error {
	select {
	case <-s.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	if t := s.d.t; t.User != "" {
		// The library sends it again on each connection.
		err := within(ctx, func() error { return s.conn.AddAuth("digest", []byte(t.User+":"+t.Password)) })
		if err != nil {
			return fmt.Errorf("authenticate: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = heartbeat{ttl: s.ttl, base: s.since, candidate: s.since}
	s.keeper = lease.Keep(s.since, s.ttl-s.ttl/4, s.renew)
	if s.expired {
		s.keeper.Lose()
	}
	go func() {
		<-s.keeper.Lost()
		s.shutdown()
		close(s.closed)
	}()
	return nil
}

// over reports that nothing is held by the session any more.
func (s *session) over() bool {
	select {
	case <-s.keeper.Lost():
		return true
	default:
		return false
	}
}

// shutdown closes the session at the server, if it is connected, and ends all that runs.
func (s *session) shutdown() {
	s.conn.Close() // it waits for the answer, for a second
	s.end()
	s.cut()
	for range s.events { // until the library's goroutine is gone
	}
}

// event is called by the library, in order, on the goroutine that connects: at an expiry
// before any request can reach another session.
func (s *session) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		if !s.isOpen {
			s.isOpen = true
			close(s.opened)
			return
		}
		close(s.again)
		s.again = make(chan struct{})
	case zk.StateExpired:
		s.expired = true
		s.end()
		if s.keeper != nil {
			s.keeper.Lose()
		}
	}
}

// reconnected returns a channel that is closed when the session is connected again.
// What its watches have seen in between is told by the server; a caller that
// looks itself does not depend on that.
func (s *session) reconnected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.again
}

// dial is the library's Dialer. There are as many attempts as the keeper has
// patience, so that one must leave time for others: a quarter of T.
func (s *session) dial(_, addr string, _ time.Duration) (net.Conn, error) {
	s.cut() // the library forgets to close the connection on which it learns of an expiry
	bound := s.d.t.DialTimeout
	s.mu.Lock()
	if s.isOpen {
		bound = min(bound, s.ttl/4)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ended, bound)
	defer cancel()
	c, err := s.d.dial(ctx, addr)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended.Err() != nil:
		if err == nil {
			c.Close()
		}
		return nil, errEnded
	case err != nil:
		s.lastErr = err
		return nil, err
	}
	s.link = &link{Conn: c, meter: s.d.t.Meter, within: bound, answer: s.answer, created: s.created}
	return s.link, nil
}

// answer notes the server's answer to the first packet, or that there was none.
func (s *session) answer(sent time.Time, timeout time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.lastErr = fmt.Errorf("no answer to the request for a session: %w", err)
	case !s.isOpen && timeout > 0: // 0: the session has expired
		s.since, s.ttl = sent, timeout
	}
}

// expect returns a channel that is closed when the create of a ticket is sent, until forget.
func (s *session) expect(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	s.creates[id] = c
	return c
}

func (s *session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.creates, id)
}

// created is told by the link that a create is being sent, of a path or sequential path.
func (s *session) created(path []byte) {
	if len(path) <= idLen {
		return
	}
	id := path[len(path)-1-idLen : len(path)-1]
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.creates[string(id)]; ok {
		close(c)
		delete(s.creates, string(id))
	}
}

// cut closes the connection; the library makes another.
func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.Close()
		s.link = nil
	}
}

// within runs a request of the library's, which knows no context, and leaves it alone
// when ctx ends: it then ends with its connection, or its session.
func within(ctx context.Context, request func() error) error {
	done := make(chan error, 1)
	go func() { done <- request() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answered reports that err is a server's answer to the request. All others, those of
// connections too, leave open whether it was done.
func answered(err error) bool {
	for _, e := range []error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNoAuth, zk.ErrNotEmpty, zk.ErrNoChildrenForEphemerals,
		zk.ErrInvalidACL, zk.ErrAPIError, zk.ErrBadArguments, zk.ErrInvalidPath, // the library's own answer
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
