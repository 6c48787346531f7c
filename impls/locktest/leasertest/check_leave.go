package leasertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/lock"
)

// checkTimeout: callers whose time runs out at any point of an acquisition. None
// may leave anything behind: with the long TTL of this check, what is left would
// keep the next one out for longer than the guard.
func checkTimeout(e *env) error {
	cs, err := e.leasers(3)
	if err != nil {
		return err
	}
	key := e.keys[0]
	holder, err := e.must(cs[0], key, e.opts())
	if err != nil {
		return err
	}
	// From "before anything was sent" to "waits for long".
	const tries = 12
	err = all(tries, func(i int) error {
		d := time.Duration(i*i) * time.Millisecond
		ctx, cancel := context.WithTimeout(e.ctx, d)
		defer cancel()
		l, err := within(e.cfg.guard/2, "Acquire after its context's end", func() (lock.Lease, error) {
			return cs[1+i%2].Acquire(ctx, key, e.opts())
		})
		return leftWell(l, err, context.DeadlineExceeded, fmt.Sprintf("with a time limit of %v", d))
	})
	if err != nil {
		return err
	}
	if err := e.refused(cs[2], key, e.opts(), "after others had given up"); err != nil {
		return err
	}
	if err := e.released(holder); err != nil {
		return err
	}
	// The lock is free now. The same without a holder: some are granted in time, and some too late.
	err = all(tries, func(i int) error {
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(i*i)*100*time.Microsecond)
		defer cancel()
		l, err := within(e.cfg.guard/2, "Acquire after its context's end", func() (lock.Lease, error) {
			return cs[1+i%2].Acquire(ctx, key, e.opts())
		})
		if err == nil {
			return e.released(l)
		}
		return leftWell(l, err, context.DeadlineExceeded, "with a short time limit")
	})
	if err != nil {
		return err
	}
	return e.nothingLeft(cs[0])
}

// nothingLeft makes sure that the lock can be had, within half of the TTL.
func (e *env) nothingLeft(c lock.Leaser) error {
	ctx, cancel := context.WithTimeout(e.ctx, e.cfg.ttl/2)
	defer cancel()
	for {
		l, err := c.Acquire(ctx, e.keys[0], e.opts())
		switch {
		case err == nil:
			return e.released(l)
		case ctx.Err() != nil || !errors.Is(err, lock.ErrNotAcquired):
			return fmt.Errorf("somebody who gave up has left something behind: %w", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// leftWell judges how an acquisition ended that could not succeed. A library may have given up by
// itself before the context did: then the error need not tell of the context.
func leftWell(l lock.Lease, err, cause error, when string) error {
	switch {
	case err == nil:
		return fmt.Errorf("acquire %s: granted (%T), though another holds it", when, l)
	case !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnknown):
		return fmt.Errorf("acquire %s: %w; want ErrNotAcquired or ErrUnknown", when, err)
	case errors.Is(err, lock.ErrUnknown) && !errors.Is(err, cause):
		return fmt.Errorf("acquire %s: %w; want %w wrapped, too", when, err, cause)
	}
	return nil
}

// checkCancel: an acquisition that waits is cancelled, and one whose context has
// ended before it begins.
func checkCancel(e *env) error {
	cs, err := e.leasers(2)
	if err != nil {
		return err
	}
	key := e.keys[0]
	ended, cancel := context.WithCancel(e.ctx)
	cancel()
	for range 5 {
		l, err := within(e.cfg.guard, "Acquire", func() (lock.Lease, error) { return cs[0].Acquire(ended, key, e.opts()) })
		if err == nil || !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			return fmt.Errorf("acquire with a context that has ended: %v, %v; want ErrNotAcquired and its error", l, err)
		}
	}
	holder, err := e.must(cs[0], key, e.opts())
	if err != nil {
		return err
	}
	for i := range 3 {
		tr := lock.NewTrace()
		ctx, cancel := context.WithCancel(lock.WithTrace(e.ctx, tr))
		done := make(chan error, 1)
		go func() {
			l, err := cs[1].Acquire(ctx, key, e.opts())
			done <- leftWell(l, err, context.Canceled, "that is cancelled")
		}()
		e.settle(tr)
		cancel()
		if _, err := within(e.cfg.guard/2, fmt.Sprintf("cancelled acquisition %d", i+1), func() (struct{}, error) {
			return struct{}{}, <-done
		}); err != nil {
			return errors.Join(err, e.released(holder)) // so that the one that is stuck ends
		}
	}
	if err := e.released(holder); err != nil {
		return err
	}
	return e.nothingLeft(cs[0])
}

// settle waits until an acquisition has begun to ask, and has been quiet for a
// moment: it is queued then, or polls. Nothing depends on being right; the more
// often it is, the more the check sees.
func (e *env) settle(tr *lock.Trace) {
	const quiet = 60 * time.Millisecond
	for end := time.Now().Add(e.cfg.guard / 10); time.Now().Before(end); {
		n := tr.Trips()
		time.Sleep(quiet)
		if n > 0 && tr.Trips() == n || tr.Attempts() > 1 {
			return
		}
	}
}

// checkClose: Close ends what is under way, and the next one gets in.
func checkClose(e *env) error {
	// Whoever holds at Close is waited for: the short TTL.
	var cs [3]lock.Leaser
	for i := range cs {
		var err error
		if cs[i], err = e.leaserTo(e.target, e.cfg.short); err != nil {
			return err
		}
	}
	o := e.opts()
	o.TTL = e.cfg.short
	if _, err := e.must(cs[0], e.keys[0], o); err != nil {
		return err
	}
	tr := lock.NewTrace()
	waiter := make(chan error, 1)
	go func() {
		l, err := cs[1].Acquire(lock.WithTrace(e.ctx, tr), e.keys[0], o)
		if err == nil { // the holder's lease may have ended
			err = e.release(l)
		}
		waiter <- err
	}()
	e.settle(tr)
	for i := range 2 {
		if _, err := within(e.cfg.guard, "Close", func() (struct{}, error) { return struct{}{}, cs[i].Close() }); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
	if _, err := within(e.cfg.guard, "an acquisition whose client is closed", func() (struct{}, error) { <-waiter; return struct{}{}, nil }); err != nil {
		return err
	}
	l, err := e.must(cs[2], e.keys[0], o)
	if err != nil {
		return fmt.Errorf("after the holder's client and a waiter's were closed: %w", err)
	}
	// How this one ends matters little: its TTL is short.
	_ = e.release(l)
	return nil
}
