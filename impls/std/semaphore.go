package std

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"lockbench/lock"
)

// semaphoreLock is a weighted semaphore whose whole weight is one.
//
// The semaphore keeps a list of waiters under a mutex, grants from its front
// in Release, and lets nobody pass a waiter: it hands over. Each acquisition
// that has to wait allocates a channel and a list element, hence Allocates;
// the uncontended one does not.
//
// Memory order: an acquisition returns after the mutex or the waiter's
// channel, which Release unlocked or closed after it took the weight back;
// both are synchronized-before edges of the Go memory model.
type semaphoreLock struct {
	_   [lock.CacheLine]byte
	sem *semaphore.Weighted
	_   [lock.CacheLine]byte
}

// semaphoreHandle gives the measured loop a concrete type.
type semaphoreHandle struct{ l *semaphoreLock }

var (
	_ lock.Handle        = (*semaphoreHandle)(nil)
	_ lock.TryLocker     = (*semaphoreHandle)(nil)
	_ lock.TimedLocker   = (*semaphoreHandle)(nil)
	_ lock.ContextLocker = (*semaphoreHandle)(nil)
)

func newSemaphore(int) (lock.Lock, error) {
	return &semaphoreLock{sem: semaphore.NewWeighted(1)}, nil
}

// NewHandle implements lock.Lock.
func (l *semaphoreLock) NewHandle(*lock.Worker) lock.Handle { return &semaphoreHandle{l: l} }

// Lock acquires the weight. The error is only ever that of the context, and
// the background context never ends.
func (h *semaphoreHandle) Lock() { _ = h.l.sem.Acquire(context.Background(), 1) }

// Unlock gives the weight back and grants it to the first waiter.
func (h *semaphoreHandle) Unlock() { h.l.sem.Release(1) }

// TryLock acquires the weight if it is free and nobody waits for it.
func (h *semaphoreHandle) TryLock() bool { return h.l.sem.TryAcquire(1) }

// LockFor tries without a context first: making one costs far more than the
// acquisition of a free semaphore.
func (h *semaphoreHandle) LockFor(d time.Duration) bool {
	if h.TryLock() {
		return true
	}
	if d <= 0 {
		return false
	}
	return h.lockForSlow(d)
}

// lockForSlow waits under a deadline. A grant that races with the deadline is
// given back by Acquire itself, which then grants it to the next waiter.
//
//go:noinline
func (h *semaphoreHandle) lockForSlow(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return h.l.sem.Acquire(ctx, 1) == nil
}

// LockContext acquires the weight unless the context ends first.
func (h *semaphoreHandle) LockContext(ctx context.Context) error {
	return h.l.sem.Acquire(ctx, 1)
}
