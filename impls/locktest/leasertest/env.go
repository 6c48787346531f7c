package leasertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"lockbench/lock"
)

// env is what one check works with: clients and keys of its own.
type env struct {
	t      testing.TB
	ctx    context.Context
	info   lock.Info
	target lock.Target
	cfg    config
	keys   []string

	mu      sync.Mutex
	clients []lock.Client
}

// workers is how many goroutines use a client at a time, at most.
const workers = 8

// prepare makes two keys that no other check uses.
func (e *env) prepare(check string) error {
	id := rand.Uint32()
	e.keys = []string{fmt.Sprintf("%s-%x-a", check, id), fmt.Sprintf("%s-%x-b", check, id)}
	if e.info.Dial == nil {
		return nil // the check of the catalogue line says what is wrong
	}
	c, err := e.dial(e.target, e.cfg.ttl)
	if err != nil {
		return err
	}
	if m, ok := c.(lock.MinTTL); ok {
		d, err := m.MinTTL(e.ctx)
		if err != nil {
			return fmt.Errorf("ask for the least TTL: %w", err)
		}
		e.cfg.short = max(e.cfg.short, d)
	}
	if p, ok := c.(lock.Preparer); ok {
		if err := p.Prepare(e.ctx, e.keys); err != nil {
			return fmt.Errorf("prepare the keys: %w", err)
		}
	}
	return nil
}

// dial makes a client, which is closed when the check ends.
func (e *env) dial(to lock.Target, ttl time.Duration) (lock.Client, error) {
	to.TTL, to.Workers = ttl, workers
	if to.DialTimeout == 0 {
		to.DialTimeout = 10 * time.Second
	}
	if to.Meter == nil {
		to.Meter = &lock.Meter{}
	}
	c, err := e.info.Dial(e.ctx, to)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients = append(e.clients, c)
	return c, nil
}

// leaser makes a client with the TTL of leases that must not end.
func (e *env) leaser() (lock.Leaser, error) { return e.leaserTo(e.target, e.cfg.ttl) }

func (e *env) leaserTo(to lock.Target, ttl time.Duration) (lock.Leaser, error) {
	c, err := e.dial(to, ttl)
	if err != nil {
		return nil, err
	}
	l, ok := c.(lock.Leaser)
	if !ok {
		return nil, fmt.Errorf("%T is no lock.Leaser", c)
	}
	return l, nil
}

// leasers makes n clients.
func (e *env) leasers(n int) ([]lock.Leaser, error) {
	var ls []lock.Leaser
	for range n {
		l, err := e.leaser()
		if err != nil {
			return nil, err
		}
		ls = append(ls, l)
	}
	return ls, nil
}

func (e *env) close() {
	for _, c := range e.clients {
		// Some are closed already, some are cut off: only a hang matters.
		if _, err := within(e.cfg.guard, "Close", func() (struct{}, error) { _ = c.Close(); return struct{}{}, nil }); err != nil {
			e.t.Errorf("%s: %v", e.info.Name, err)
		}
	}
}

// opts are those of an acquisition whose lease must not end.
func (e *env) opts() lock.AcquireOptions {
	return lock.AcquireOptions{TTL: e.cfg.ttl, Renew: e.info.Remote.Renews, Fence: e.info.Remote.Fences,
		Wait: lock.WaitPolicy{Min: time.Millisecond, Max: 16 * time.Millisecond, Jitter: 0.5}}
}

// try is opts for one attempt.
func (e *env) try() lock.AcquireOptions {
	o := e.opts()
	o.Try = true
	return o
}

// must acquires a lock that is free, or will be soon. A library that gives up by
// itself is asked again. A trace may be given.
func (e *env) must(l lock.Leaser, key string, o lock.AcquireOptions, tr ...*lock.Trace) (lock.Lease, error) {
	ctx := e.ctx
	for _, t := range tr {
		ctx = lock.WithTrace(ctx, t)
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.guard)
	defer cancel()
	for {
		got, err := within(2*e.cfg.guard, "Acquire", func() (lock.Lease, error) { return l.Acquire(ctx, key, o) })
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() == nil && errors.Is(err, lock.ErrNotAcquired):
			time.Sleep(time.Millisecond) // o.Try, or a library's own limit
		default:
			return nil, fmt.Errorf("acquire a lock that is free or will be: %w", err)
		}
	}
}

// refused makes sure that a lock that is held is not granted again.
func (e *env) refused(l lock.Leaser, key string, o lock.AcquireOptions, when string) error {
	o.Try = true
	got, err := within(e.cfg.guard, "Acquire with Try", func() (lock.Lease, error) { return l.Acquire(e.ctx, key, o) })
	switch {
	case err == nil:
		_ = e.release(got) // the failure is that it was granted
		return fmt.Errorf("a second holder %s", when)
	case !errors.Is(err, lock.ErrNotAcquired):
		return fmt.Errorf("an attempt to get a held lock %s: %w; want ErrNotAcquired", when, err)
	}
	return nil
}

func (e *env) release(l lock.Lease) error {
	_, err := within(e.cfg.guard, "Release", func() (struct{}, error) { return struct{}{}, l.Release(e.ctx) })
	return err
}

// released releases a lease that is held.
func (e *env) released(l lock.Lease) error {
	if err := e.release(l); err != nil {
		return fmt.Errorf("release a lease that is held: %w", err)
	}
	return nil
}

// within runs f and fails if it does not return in time; then f is left behind.
func within[T any](d time.Duration, what string, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case r := <-done:
		return r.v, r.err
	case <-t.C:
		var zero T
		return zero, fmt.Errorf("%s is stuck: no answer within %v", what, d)
	}
}

// lost reports whether the client knows that the lease is lost.
func lost(l lock.Lease) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

// awaitLost waits for it.
func awaitLost(l lock.Lease, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.Lost():
		return true
	case <-t.C:
		return false
	}
}

// all runs f for each index at the same time and joins the errors.
func all(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
