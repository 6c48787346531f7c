package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// session is a connection with the locks that are held in it: those of one
// acquisition, or of one owner.
//
//	open --the last user departs--> over: finish, and the connection goes to the pool
//	open --the connection breaks, or its transaction is lost--> over: Lose
//
// Whoever uses the connection has the session's turn. Requests of one owner are so
// served one after another: while one waits in the server for a lock, the
// owner's others wait for it.
type session struct {
	owner  string        // "": of one acquisition
	turn   chan struct{} // full: somebody has the turn
	users  int           // leases, and requests under way; guarded by sessions.mu
	c      *conn
	keeper *lease.Keeper // of its leases

	// For who has the turn:
	over bool
	// within bounds a release: that of the longest TTL that was asked for, and a second at least.
	within atomic.Int64 // ns
	locks  int          // locks held; in a transaction those that its end will free
	saved  bool         // a savepoint stands after the last of them
	// numbers of advisory locks, with how often they are held; nil: none, or not an owner's
	numbers map[int64]int
}

// sessions are those of a client.
type sessions struct {
	*pool
	// finish is what is left to do when nobody holds a lease any more: COMMIT. Its error may
	// wrap errLeft.
	finish func(context.Context, *session) error

	mu     sync.Mutex
	owners map[string]*session
}

// Inline implements lease.Inline.
func (ss *sessions) Inline() {}

// enter returns the owner's session, or a new one, with its turn, and counts a
// user. The error wraps lock.ErrNotAcquired.
func (ss *sessions) enter(ctx context.Context, o lock.AcquireOptions) (*session, error) {
	for {
		s, mine := ss.join(o.Owner)
		if mine {
			s.within.Store(int64(max(o.TTL, time.Second)))
			c, err := ss.take(ctx)
			if err != nil {
				ss.end(s)
				s.rest()
				return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
			}
			s.c, s.keeper = c, c.keeper.Load()
			return s, nil
		}
		ok, err := s.take(ctx, 0)
		if err != nil {
			ss.leave(s)
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		switch {
		case ok && !s.c.broken.Load():
			s.within.Store(max(s.within.Load(), int64(o.TTL))) // with the turn
			return s, nil
		case ok: // the watch has seen its end
			ss.lose(s)
			s.rest()
		}
		// It is over: join or found the owner's next one.
	}
}

// join returns the owner's session, or else a new one with its turn.
func (ss *sessions) join(owner string) (s *session, mine bool) {
	if owner != "" {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		if s = ss.owners[owner]; s != nil {
			s.users++
			return s, false
		}
	}
	s = &session{owner: owner, turn: make(chan struct{}, 1), users: 1}
	s.turn <- struct{}{}
	if owner != "" {
		ss.owners[owner] = s
	}
	return s, true
}

// take waits for the session's turn, for some time (0: without a bound), and ends the
// watch; ok is false, and the turn not taken, if the session is over.
func (s *session) take(ctx context.Context, within time.Duration) (ok bool, err error) {
	select {
	case s.turn <- struct{}{}:
	default:
		var late <-chan time.Time
		if within > 0 {
			t := time.NewTimer(within)
			defer t.Stop()
			late = t.C
		}
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-late:
			return false, errBound
		}
	}
	if s.over {
		<-s.turn
		return false, nil
	}
	s.c.endWatch()
	return true, nil
}

// bound returns how long a release may take. It is read without the turn, too.
func (s *session) bound() time.Duration { return time.Duration(s.within.Load()) }

// rest gives the turn back. The connection is watched if locks are held in it.
func (s *session) rest() {
	if !s.over && s.locks > 0 {
		s.c.beginWatch(s.keeper)
	}
	<-s.turn
}

// depart counts one user less, with the turn, and gives the turn back. The last
// user finishes the session.
func (ss *sessions) depart(ctx context.Context, s *session) error {
	var err error
	if !s.over && ss.last(s) {
		err = ss.finish(ctx, s)
		if errors.Is(err, errLeft) {
			ss.handOver(s, func() {
				_ = s.c.await(false) // whatever it is: the caller has been told that it is unknown
				ss.end(s)
				s.rest()
			})
			return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		}
		ss.end(s)
	}
	s.rest()
	return err
}

// handOver gives the session, with the turn, to f, which goes on after its caller has
// left and gives the turn back.
func (ss *sessions) handOver(s *session, f func()) {
	if !ss.behind(f) { // closed, and all connections with it
		ss.lose(s)
		s.rest()
	}
}

// last counts one user less. If that was the last one, nobody can join any more.
func (ss *sessions) last(s *session) bool {
	if s.owner == "" {
		return true
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.users--; s.users > 0 {
		return false
	}
	ss.forget(s)
	return true
}

// leave is depart for a user who never got the turn. If it was the last,
// whoever had the turn has counted on it to finish, and gives the turn back now.
func (ss *sessions) leave(s *session) {
	if !ss.last(s) {
		return
	}
	s.turn <- struct{}{}
	if s.over {
		s.rest()
		return
	}
	s.c.endWatch()
	if s.locks == 0 { // nothing is sent
		ss.end(s)
		s.rest()
		return
	}
	ss.handOver(s, func() {
		ctx, end := context.WithTimeout(context.Background(), cancelGrace)
		defer end()
		// The leases' releases have been answered before.
		if err := ss.finish(ctx, s); errors.Is(err, errLeft) {
			s.c.cut()
		}
		ss.end(s)
		s.rest()
	})
}

// forget takes the session from its owner. The caller holds mu.
func (ss *sessions) forget(s *session) {
	if s.owner != "" && ss.owners[s.owner] == s {
		delete(ss.owners, s.owner)
	}
}

// end ends the session, with the turn. Users who wait for it find it over.
func (ss *sessions) end(s *session) {
	ss.mu.Lock()
	ss.forget(s)
	ss.mu.Unlock()
	s.over = true
	if s.c != nil {
		ss.give(s.c)
	}
}

// lose ends the session, with the turn, and its leases are lost.
func (ss *sessions) lose(s *session) {
	s.c.keeper.Store(lease.Session()) // of the next session in the connection
	s.keeper.Lose()
	ss.end(s)
}

// again reports whether a request for a lock that failed should be sent again: the
// server gave up waiting (lock_timeout), or the connection had ended unnoticed in
// the pool, and there is a new one.
func (ss *sessions) again(ctx context.Context, s *session, err error, waits bool) bool {
	switch {
	case err == nil || ctx.Err() != nil:
		return false
	case code(err) == codeLockNotAvailable:
		return waits
	case !s.c.broken.Load() || !s.c.used || s.locks > 0:
		return false
	}
	c, dialErr := ss.connect(ctx, nil)
	if dialErr != nil {
		return false
	}
	ss.drop(s.c)
	s.c, s.keeper = c, c.keeper.Load()
	return true
}

// later does what a caller has no time to wait for: with the session's turn, if
// it is not over by then.
func (ss *sessions) later(s *session, do func(context.Context)) {
	ss.behind(func() {
		if ok, _ := s.take(context.Background(), 0); !ok {
			return // over: nothing is held any more
		}
		ctx, end := context.WithTimeout(context.Background(), cancelGrace)
		defer end()
		do(ctx)
	})
}

// orLater takes the turn for a release. If the owner waits in the server for
// something else for so long that ctx ends, the release is done afterwards.
func (ss *sessions) orLater(ctx context.Context, s *session, do func(context.Context) error) error {
	ok, err := s.take(ctx, s.bound())
	switch {
	case err != nil:
		ss.later(s, func(ctx context.Context) { _ = do(ctx) })
		return fmt.Errorf("%w: the owner's session is busy: %w", lock.ErrUnknown, err)
	case !ok:
		return errLost
	}
	if s.c.broken.Load() {
		ss.lose(s)
		s.rest()
		return errLost
	}
	return do(ctx)
}

// grant is what a lock in the session is for the kit: it ends with the session.
func (s *session) grant(key string, sent time.Time) *lease.Grant {
	s.locks++
	s.saved = false
	return &lease.Grant{Key: key, Sent: sent, Session: s.keeper, Data: s}
}
