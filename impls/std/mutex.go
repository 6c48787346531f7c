package std

import (
	"sync"

	"lockbench/lock"
)

// mutexLock is sync.Mutex on lines of its own.
//
// sync.Mutex barges: an arriving goroutine takes a free lock ahead of the one
// that was just woken for it. Once a waiter has waited for a millisecond the
// mutex changes to starvation mode and hands over in order, until a waiter
// that waited less, or the last one, gets it. So it is fast with an empty section,
// and fair on the scale of milliseconds only; the harness prints both sides.
//
// Memory order: the n-th Unlock is synchronized before the m-th Lock returns,
// for n < m (package sync). A successful TryLock counts as a Lock; a failed
// one orders nothing, and nothing here relies on it.
type mutexLock struct {
	_  [lock.CacheLine]byte
	mu sync.Mutex
	_  [lock.CacheLine]byte
}

// mutexHandle adds nothing to the mutex; it exists so that the measured loop
// has a concrete type. All its methods inline down to the compare-and-swap of
// the mutex's own fast path.
type mutexHandle struct{ l *mutexLock }

var (
	_ lock.Handle    = (*mutexHandle)(nil)
	_ lock.TryLocker = (*mutexHandle)(nil)
)

func newMutex(int) (lock.Lock, error) { return &mutexLock{}, nil }

// NewHandle implements lock.Lock.
func (l *mutexLock) NewHandle(*lock.Worker) lock.Handle { return &mutexHandle{l: l} }

// Lock acquires the mutex.
func (h *mutexHandle) Lock() { h.l.mu.Lock() }

// Unlock releases the mutex.
func (h *mutexHandle) Unlock() { h.l.mu.Unlock() }

// TryLock acquires the mutex if it is free and not in starvation mode: then
// it is being handed over to a waiter.
func (h *mutexHandle) TryLock() bool { return h.l.mu.TryLock() }
