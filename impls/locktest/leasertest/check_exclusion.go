package leasertest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// room is what one key protects.
type room struct {
	inside atomic.Int32
	sum    int64 // plain, on purpose: the race detector is a second judge
}

// checkExclusion: three clients with four workers each, on two keys.
func checkExclusion(e *env) error {
	const clients, each = 3, 4
	cs, err := e.leasers(clients)
	if err != nil {
		return err
	}
	var rooms [2]room
	var granted [2]atomic.Int64
	var total atomic.Int64
	// Leases lost without a cause end it, too: every lease is longer than this.
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.limit)
	defer cancel()
	err = all(clients*each, func(w int) error {
		for i := 0; ctx.Err() == nil && total.Load() < int64(e.cfg.ops); i++ {
			k := (w + i) % 2
			l, err := cs[w%clients].Acquire(ctx, e.keys[k], e.opts())
			switch {
			case errors.Is(err, lock.ErrNotAcquired), ctx.Err() != nil && errors.Is(err, lock.ErrUnknown):
				continue
			case err != nil:
				return fmt.Errorf("acquire: %w", err)
			}
			granted[k].Add(1)
			total.Add(1)
			if err := rooms[k].visit(l); err != nil {
				return err
			}
			if err := e.released(l); err != nil {
				return err
			}
		}
		return nil
	})
	for k := range rooms {
		if got, want := rooms[k].sum, granted[k].Load(); err == nil && got != want {
			err = fmt.Errorf("the plain counter is %d after %d sections", got, want)
		}
	}
	if err == nil && total.Load() < 2 {
		err = fmt.Errorf("%d acquisitions within %v", total.Load(), e.cfg.limit)
	}
	return err
}

// visit is the critical section.
func (r *room) visit(l lock.Lease) error {
	if n := r.inside.Add(1); n != 1 {
		return fmt.Errorf("%d holders at a time", n)
	}
	before := r.sum
	time.Sleep(50 * time.Microsecond) // another one would show
	r.sum = before + 1
	if n := r.inside.Add(-1); n != 0 {
		return fmt.Errorf("%d holders at a time", n+1)
	}
	if lost(l) {
		return errors.New("a lease was lost long before its TTL")
	}
	return nil
}

// checkGuarded: the value is what was acknowledged, and nobody writes without
// the lock.
func checkGuarded(e *env) error {
	const clients = 3
	cs, err := e.leasers(clients)
	if err != nil {
		return err
	}
	key := e.keys[0]
	first, err := e.must(cs[0], key, e.opts())
	if err != nil {
		return err
	}
	g, ok := first.(lock.Guarded)
	if !ok {
		if e.info.Kind == lock.KindGuarded {
			return fmt.Errorf("%T has no Apply", first)
		}
		if err := e.released(first); err != nil {
			return err
		}
		return errNotClaimed
	}
	if err := g.Apply(e.ctx, 1000); err != nil {
		return fmt.Errorf("write while holding: %w", err)
	}
	if err := e.released(g); err != nil {
		return err
	}
	if err := g.Apply(e.ctx, 1); !errors.Is(err, lock.ErrNotHeld) {
		return fmt.Errorf("write after the release: %v; want ErrNotHeld", err)
	}
	var total, acked atomic.Int64
	acked.Store(1000)
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.limit)
	defer cancel()
	err = all(clients*2, func(w int) error {
		for ctx.Err() == nil && total.Load() < int64(e.cfg.ops)/2 {
			l, err := cs[w%clients].Acquire(ctx, key, e.opts())
			switch {
			case errors.Is(err, lock.ErrNotAcquired), ctx.Err() != nil && errors.Is(err, lock.ErrUnknown):
				continue
			case err != nil:
				return fmt.Errorf("acquire: %w", err)
			}
			total.Add(1)
			for range 2 {
				if err := l.(lock.Guarded).Apply(e.ctx, 1); err != nil {
					return fmt.Errorf("write while holding: %w", err)
				}
			}
			if err := e.released(l); err != nil {
				return err
			}
			acked.Add(2)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.value(key, acked.Load(), 0)
}

// value compares what the service has with what was acknowledged.
func (e *env) value(key string, acked, unknown int64) error {
	c, err := e.dial(e.target, e.cfg.ttl)
	if err != nil {
		return err
	}
	v, ok := c.(lock.Valuer)
	if !ok {
		return fmt.Errorf("%T cannot read the value that it protects", c)
	}
	got, err := v.Value(e.ctx, key)
	if err != nil {
		return fmt.Errorf("read the value: %w", err)
	}
	if got < acked || got > acked+unknown {
		return fmt.Errorf("the value is %d, acknowledged were %d and unknown %d", got, acked, unknown)
	}
	return nil
}

// checkOptimistic: an update happens once, whoever else writes.
func checkOptimistic(e *env) error {
	const clients = 3
	var cs []lock.Optimistic
	for range clients {
		c, err := e.dial(e.target, e.cfg.ttl)
		if err != nil {
			return err
		}
		o, ok := c.(lock.Optimistic)
		if !ok {
			return fmt.Errorf("%T is no lock.Optimistic", c)
		}
		cs = append(cs, o)
	}
	key := e.keys[0]
	ended, cancel := context.WithCancel(e.ctx)
	cancel()
	if _, err := cs[0].Update(ended, key, func(v int64) int64 { return v + 1 }); !errors.Is(err, lock.ErrNotAcquired) {
		return fmt.Errorf("update with a context that has ended: %v; want ErrNotAcquired", err)
	}
	var total, acked, unknown atomic.Int64
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.limit)
	defer cancel()
	err := all(clients*2, func(w int) error {
		for ctx.Err() == nil && total.Add(1) <= int64(e.cfg.ops) {
			calls := 0
			n, err := cs[w%clients].Update(ctx, key, func(v int64) int64 { calls++; return v + 1 })
			switch {
			case err == nil && (n < 1 || calls != n):
				return fmt.Errorf("%d attempts, and the function was called %d times", n, calls)
			case err == nil:
				acked.Add(1)
			case errors.Is(err, lock.ErrUnknown):
				unknown.Add(1)
			case !errors.Is(err, lock.ErrNotAcquired):
				return fmt.Errorf("update: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if acked.Load() < 2 {
		return fmt.Errorf("%d updates within %v", acked.Load(), e.cfg.limit)
	}
	return e.value(key, acked.Load(), unknown.Load())
}
