package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// advisory is pg-advisory: a lock of the session.
type advisory struct {
	*sessions
	names names
}

var _ lease.Driver = (*advisory)(nil)

// keyOf makes a bigint of a name: the first 64 bits of its SHA-256. Advisory locks
// have no names, only that number, which all applications of a database share; two
// of n names have the same one with a probability of n*n / 2^65, and then share a lock.
func (n names) keyOf(key string) int64 {
	var room [128]byte
	sum := sha256.Sum256(append(append(room[:0], n.prefix...), key...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Acquire implements lease.Driver: one round trip, which the server answers when
// the lock is granted.
func (d *advisory) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	s, err := d.enter(ctx, o.Owner)
	if err != nil {
		return nil, err
	}
	st := stLock
	if o.Try {
		st = stTryLock
	}
	n := d.names.keyOf(key)
	for {
		sent := time.Now()
		s.c.put(st, s.c.int8(n))
		err = s.c.ask(ctx)
		switch {
		case err == nil && (!o.Try || s.c.yes()):
			g := s.grant(key, sent)
			s.rest()
			return g, nil
		case err == nil:
			err = errBusy
		case d.again(ctx, s, err, !o.Try):
			continue
		default:
			// A deadlock (40P01) ends this request only: other locks of the session stay.
			err = notGranted(err)
		}
		if s.c.broken.Load() {
			d.lose(s)
		}
		_ = d.depart(ctx, s)
		return nil, err
	}
}

// Release implements lease.Driver.
func (d *advisory) Release(ctx context.Context, g *lease.Grant) error {
	s := g.Data.(*session)
	return d.orLater(ctx, s, func(ctx context.Context) error { return d.unlock(ctx, s, g) })
}

// unlock gives one lock back, with the turn.
func (d *advisory) unlock(ctx context.Context, s *session, g *lease.Grant) error {
	s.c.put(stUnlock, s.c.int8(d.names.keyOf(g.Key)))
	err := s.c.ask(ctx)
	switch {
	case err == nil && s.c.yes():
		s.locks--
	case err == nil:
		// The session does not hold what it should: nothing in it can be relied on.
		s.c.cut()
		err = fmt.Errorf("%w: the server did not know it", lock.ErrNotHeld)
	case fatal(err):
		err = fmt.Errorf("%w: %w", errLost, err)
	default:
		// Perhaps unlocked; the end of the session settles it.
		s.c.cut()
		err = fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	if s.c.broken.Load() {
		d.lose(s)
	}
	_ = d.depart(ctx, s) // nothing is left to finish
	return err
}

// Close implements lease.Driver.
func (d *advisory) Close() error { return d.close() }
