package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
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

var (
	_ lease.Inline  = (*advisory)(nil)
	_ lease.Quitter = (*advisory)(nil)
)

func newAdvisory(p *pool, n names) *advisory {
	nothing := func(context.Context, *session) error { return nil } // is left to do at the end
	return &advisory{&sessions{pool: p, owners: map[string]*session{}, finish: nothing}, n}
}

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
	s, err := d.enter(ctx, o)
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
		err = s.c.ask(ctx, terms{quits: true})
		switch {
		case errors.Is(err, errLeft):
			d.handOver(s, func() { d.late(s, n, o.Try) })
			return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
		case err == nil && (!o.Try || s.c.yes()):
			g := s.grant(key, sent)
			s.count(n, 1)
			s.rest()
			return g, nil
		case err == nil:
			err = errBusy
		default:
			d.settle(ctx, s, n)
			if d.again(ctx, s, err, !o.Try) {
				continue
			}
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

// late ends an acquisition whose caller has left, with the turn, which it gives back.
func (d *advisory) late(s *session, n int64, try bool) {
	switch err := s.c.await(true); {
	case err != nil:
		d.settle(context.Background(), s, n)
	case !try || s.c.yes():
		d.meter.Orphan()
		s.c.put(stUnlock, s.c.int8(n))
		if d.brief(context.Background(), s) != nil || !s.c.yes() {
			s.c.cut()
		}
	}
	if s.c.broken.Load() {
		d.lose(s)
	}
	_ = d.depart(context.Background(), s)
}

// brief asks what the server answers at once.
func (ss *sessions) brief(ctx context.Context, s *session) error {
	ctx, end := context.WithTimeout(ctx, cancelGrace)
	defer end()
	return s.c.ask(ctx, terms{})
}

// settle makes sure that a request that failed has left no lock. It may have: if the
// holder lets go while the waiter is being cancelled (57014) or timed out (55P03), the
// server grants the lock and then fails the statement, and a session's advisory
// locks, unlike a transaction's, survive errors (LockErrorCleanup in lmgr/proc.c; seen
// with version 15). The connection would go back to the pool with the lock.
func (d *advisory) settle(ctx context.Context, s *session, n int64) {
	switch {
	case s.c.broken.Load():
		return
	case s.locks == 0:
		s.c.put(stUnlockAll)
	case s.numbers[n] == 0:
		s.c.put(stUnlock, s.c.int8(n)) // false, and a warning in the server's log, if there was none
	default:
		// The session holds the same number rightly, how often nobody tells.
		s.c.cut()
		return
	}
	if d.brief(ctx, s) != nil {
		s.c.cut()
	}
}

// count notes that an owner's session holds a number once more (1) or less (-1).
func (s *session) count(n int64, by int) {
	if s.owner == "" {
		return
	}
	if s.numbers == nil {
		s.numbers = map[int64]int{}
	}
	if s.numbers[n] += by; s.numbers[n] == 0 {
		delete(s.numbers, n)
	}
}

// Release implements lease.Driver.
func (d *advisory) Release(ctx context.Context, g *lease.Grant) error {
	s := g.Data.(*session)
	return d.orLater(ctx, s, func(ctx context.Context) error { return d.unlock(ctx, s, g) })
}

// unlock gives one lock back, with the turn.
func (d *advisory) unlock(ctx context.Context, s *session, g *lease.Grant) error {
	n := d.names.keyOf(g.Key)
	s.c.put(stUnlock, s.c.int8(n))
	err := s.c.ask(ctx, terms{within: s.bound()})
	if errors.Is(err, errLeft) {
		d.handOver(s, func() { _ = d.unlocked(s, n, s.c.await(false)) })
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return d.unlocked(s, n, err)
}

// unlocked takes note of the reply, and departs.
func (d *advisory) unlocked(s *session, n int64, err error) error {
	switch {
	case err == nil && s.c.yes():
		s.locks--
		s.count(n, -1)
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
	_ = d.depart(context.Background(), s) // nothing is left to finish
	return err
}

// Close implements lease.Driver.
func (d *advisory) Close() error { return d.close() }
