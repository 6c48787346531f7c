package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// pooled is pg-advisory-pooled: the advisory lock as it is often written over a connection pool. Each of the
// two statements takes whatever connection is free, and gives it back. But the lock belongs to the session:
//
//	who comes next, and gets the holder's connection   is granted the lock, too: sessions may stack it
//	who releases, and gets another's connection        unlocks nothing (false, and a warning), and the lock
//	                                                   stays in a connection that nobody thinks of: leaked
//	who leaves while his grant comes                   the same; also if the server cancels the statement, which
//	                                                   it may do after it has granted the lock (see settle)
//
// Between processes it excludes, as long as none of that happens. Its holder never learns of a lost
// session: nobody looks after a connection that is in a pool.
type pooled struct {
	*pool
	names names
}

var (
	_ lease.Inline  = pooled{}
	_ lease.Quitter = pooled{}
)

func dialPooled(ctx context.Context, t lock.Target) (lock.Client, error) {
	n, err := namesOf(t.Prefix)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	p, err := open(ctx, t, n, []*statement{stLock, stTryLock, stUnlock, stRollback}, nil)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return lease.New(pooled{p, n}, t.Meter), nil
}

// Inline implements lease.Inline.
func (pooled) Inline() {}

// Acquire implements lease.Driver.
func (d pooled) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	st := stLock
	if o.Try {
		st = stTryLock
	}
	for {
		c, err := d.take(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
		}
		sent := time.Now()
		c.put(st, c.int8(d.names.keyOf(key)))
		err = c.ask(ctx, terms{quits: true})
		granted := err == nil && (!o.Try || c.yes())
		stale := c.used && c.broken.Load()
		d.back(c, err)
		switch {
		case granted:
			return &lease.Grant{Key: key, Sent: sent}, nil
		case err == nil:
			return nil, errBusy
		case errors.Is(err, errLeft):
			return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		case ctx.Err() == nil && (stale || code(err) == codeLockNotAvailable && !o.Try):
			continue // it had ended in the pool, or the safety net (lock_timeout) has begun the wait anew
		}
		return nil, notGranted(err)
	}
}

// back gives a connection back, with whatever it holds; one whose reply is awaited, once it has come. The server
// is told to cancel, as drivers do; a grant that was faster stays in the connection.
func (d pooled) back(c *conn, err error) {
	if !errors.Is(err, errLeft) {
		d.give(c)
		return
	}
	if !d.behind(func() { _ = c.await(true); d.give(c) }) {
		d.drop(c)
	}
}

// Release implements lease.Driver. It breaks its promise: what it unlocks is any session's.
func (d pooled) Release(ctx context.Context, g *lease.Grant) error {
	c, err := d.take(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	c.put(stUnlock, c.int8(d.names.keyOf(g.Key)))
	err = c.ask(ctx, terms{within: time.Second})
	unlocked := err == nil && c.yes()
	d.back(c, err)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	case !unlocked:
		return fmt.Errorf("%w: not by the session that was asked", lock.ErrNotHeld)
	}
	return nil
}

// Close implements lease.Driver.
func (d pooled) Close() error { return d.close() }
