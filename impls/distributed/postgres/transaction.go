package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// transaction is pg-advisory-xact and the pg-row locks: a lock that the end of
// its transaction frees, with the protected write in the same transaction.
//
//	idle --BEGIN, SELECT--> locked --Apply--> locked --COMMIT--> idle
//	idle --BEGIN, SELECT: refused--> failed --ROLLBACK, BEGIN, SELECT--> locked
//	locked --40P01, an error of Apply, or the connection breaks--> lost
//
// Each arrow is one round trip: statements that belong together are sent together.
//
// A second lock of an owner is asked for behind a savepoint, so that an attempt which
// is refused or given up does not cost the owner its first. After a deadlock the
// whole transaction is given up, because the others in the cycle wait for what it holds.
type transaction struct {
	*sessions
	names names
	table tableStatements

	wait *statement // waits; nil: polls
	try  *statement // does not wait
	add  *statement // the protected write
	hash bool       // the statements take the key's number, not the row's name
	bool bool       // try answers true or false, rather than a row or none or 55P03
	skip bool       // no row means that somebody has it, too

	known sync.Map // keys whose rows have been seen or made
}

var (
	_ lease.Inline  = (*transaction)(nil)
	_ lease.Quitter = (*transaction)(nil)
	_ lease.Applier = (*transaction)(nil)
)

// Acquire implements lease.Driver.
func (d *transaction) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	s, err := d.enter(ctx, o)
	if err != nil {
		return nil, err
	}
	if d.wait != nil && !o.Try {
		lock.TraceOf(ctx).Attempt()
		g, err := d.attempt(ctx, s, d.wait, key)
		if errors.Is(err, errLeft) {
			d.handOver(s, func() { d.late(s, d.wait) })
			return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		}
		if err != nil {
			_ = d.depart(ctx, s)
			return nil, err
		}
		s.rest()
		return g, nil
	}
	<-s.turn // taken for each attempt by itself: the owner's other requests go on meanwhile
	var failed error
	g, err := lease.Poll(ctx, o, func(ctx context.Context) (*lease.Grant, error) {
		g, err := d.tryOnce(ctx, s, key)
		if err != nil && !errors.Is(err, errBusy) {
			failed = err
			return nil, errStop
		}
		return g, err
	})
	switch {
	case err == nil:
		return g, nil
	case errors.Is(failed, errLeft): // handed over
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, failed)
	}
	d.leave(s)
	if failed != nil {
		return nil, failed
	}
	return nil, err
}

// errStop ends polling, as lock.ErrNotAcquired would not.
var errStop = errors.New("stop")

// tryOnce takes the turn for one attempt that does not wait.
func (d *transaction) tryOnce(ctx context.Context, s *session, key string) (*lease.Grant, error) {
	ok, err := s.take(ctx, 0)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	case !ok:
		return nil, fmt.Errorf("%w: the owner's session has ended", lock.ErrNotAcquired)
	}
	g, err := d.attempt(ctx, s, d.try, key)
	if errors.Is(err, errLeft) {
		d.handOver(s, func() { d.late(s, d.try) })
		return nil, err
	}
	s.rest()
	return g, err
}

// late ends an acquisition whose caller has left, with the turn, which it gives back. What was
// locked goes with the transaction, or with what was done since the savepoint.
func (d *transaction) late(s *session, st *statement) {
	err := s.c.await(true)
	switch {
	case err != nil:
		d.recover(s, notGranted(err))
	case d.got(s, st):
		d.meter.Orphan()
		if s.locks == 0 {
			break
		}
		s.c.put(stRollbackTo)
		if d.brief(context.Background(), s) != nil || s.c.state != inBlock {
			s.c.cut()
			d.lose(s)
		}
	}
	_ = d.depart(context.Background(), s)
}

// attempt asks for the lock once, with the turn, which it keeps. After errLeft the reply is
// still to be awaited.
func (d *transaction) attempt(ctx context.Context, s *session, st *statement, key string) (*lease.Grant, error) {
	for missing := 0; ; {
		sent := time.Now()
		d.begin(s)
		if d.hash {
			s.c.put(st, s.c.int8(d.names.keyOf(key)))
		} else {
			s.c.put(st, s.c.text(d.names.cell, key))
		}
		err := s.c.ask(ctx, terms{quits: true})
		switch {
		case errors.Is(err, errLeft):
			return nil, err
		case err == nil && d.got(s, st):
			if !d.hash {
				d.see(key)
			}
			return s.grant(key, sent), nil
		case err == nil && (d.bool && st == d.try || d.skip && d.seen(key)):
			return nil, errBusy
		case err == nil && missing < 3:
			missing++
			err = d.ensure(ctx, key)
			if err == nil {
				continue
			}
		case err == nil:
			err = fmt.Errorf("%w: the row disappears as soon as it is made", lock.ErrNotAcquired)
		case d.again(ctx, s, err, st == d.wait):
			continue
		case code(err) == codeLockNotAvailable:
			err = errBusy
		default:
			err = notGranted(err)
		}
		d.recover(s, err)
		return nil, err
	}
}

// got reports whether the reply is that of a lock.
func (d *transaction) got(s *session, st *statement) bool {
	if d.bool && st == d.try {
		return s.c.yes()
	}
	return s.c.rows == 1
}

// begin puts what must come before a lock statement.
func (d *transaction) begin(s *session) {
	switch s.c.state {
	case idle:
		s.c.put(stBegin)
	case inFailed:
		if s.saved {
			s.c.put(stRollbackTo)
			return
		}
		s.c.put(stRollback)
		s.c.put(stBegin)
	case inBlock:
		if s.locks > 0 && !s.saved {
			s.c.put(stSavepoint)
			s.saved = true
		}
	}
}

// recover makes the session usable after a failed attempt, or gives it up.
func (d *transaction) recover(s *session, err error) {
	switch {
	case s.c.broken.Load(), errors.Is(err, lock.ErrDeadlock):
		d.lose(s)
	case s.c.state == inFailed && s.locks > 0:
		if !s.saved {
			d.lose(s)
			return
		}
		s.c.put(stRollbackTo)
		if d.brief(context.Background(), s) != nil || s.c.state != inBlock {
			s.c.cut()
			d.lose(s)
		}
	}
}

// Apply implements lease.Applier. A failed statement fails the transaction, and
// one whose connection breaks is rolled back: an error means that nothing is written.
func (d *transaction) Apply(ctx context.Context, g *lease.Grant, delta int64) error {
	s := g.Data.(*session)
	ok, err := s.take(ctx, 0)
	if err != nil {
		return fmt.Errorf("%w: not written: the owner's session is busy: %w", lock.ErrNotHeld, err)
	}
	if !ok {
		return errLost
	}
	defer s.rest()
	if s.c.broken.Load() {
		d.lose(s)
		return errLost
	}
	s.c.put(d.add, s.c.text(d.names.cell, g.Key), s.c.int8(delta))
	err = s.c.askAll(ctx)
	if errors.Is(err, errNotSent) {
		return fmt.Errorf("%w: not written: %w", lock.ErrNotHeld, err)
	}
	if err == nil && s.c.rows != 1 {
		err = errors.New("the row is gone")
	}
	if err != nil {
		d.lose(s)
		return fmt.Errorf("%w: not written, and the transaction is lost: %w", lock.ErrNotHeld, err)
	}
	return nil
}

// Release implements lease.Driver. The owner's last release commits.
func (d *transaction) Release(ctx context.Context, g *lease.Grant) error {
	s := g.Data.(*session)
	return d.orLater(ctx, s, func(ctx context.Context) error { return d.depart(ctx, s) })
}

// commit is the sessions' finish: nil, lock.ErrNotHeld (rolled back), lock.ErrUnknown,
// or errLeft.
func (d *transaction) commit(ctx context.Context, s *session) error {
	if s.locks == 0 || s.c.broken.Load() {
		return nil // nothing was granted: the pool rolls back
	}
	if s.c.state != inBlock {
		return errLost
	}
	s.c.put(stCommit)
	err := s.c.ask(ctx, terms{within: s.bound()})
	switch {
	case errors.Is(err, errLeft):
		return err
	case string(s.c.tag) == "COMMIT": // even if the connection broke right after
		return nil
	case errors.Is(err, errNotSent):
		return fmt.Errorf("%w: not committed: %w", lock.ErrNotHeld, err) // the pool rolls back
	case err == nil: // COMMIT of a transaction that had failed
		return fmt.Errorf("%w: the transaction was rolled back", lock.ErrNotHeld)
	case code(err) != "" && !fatal(err):
		return fmt.Errorf("%w: not committed: %w", lock.ErrNotHeld, err)
	default:
		return fmt.Errorf("%w: the reply to COMMIT is lost: %w", lock.ErrUnknown, err)
	}
}

// Close implements lease.Driver.
func (d *transaction) Close() error { return d.close() }

func (d *transaction) see(key string) {
	if !d.seen(key) {
		d.known.Store(key, struct{}{})
	}
}

func (d *transaction) seen(key string) bool {
	_, ok := d.known.Load(key)
	return ok
}

// ensure makes the key's row, on a connection of its own: made in the transaction,
// others would wait for it who should not wait.
func (d *transaction) ensure(ctx context.Context, key string) error {
	err := d.once(ctx, func(c *conn) { c.put(d.table.ensure, c.text(d.names.cell, key)) }, nil)
	if err != nil {
		return fmt.Errorf("%w: make the row: %w", lock.ErrNotAcquired, err)
	}
	d.see(key)
	return nil
}
