package futex

import (
	"sync/atomic"

	"lockbench/lock"
)

// The states of a futexLock.
const (
	free      = 0
	held      = 1 // nobody sleeps
	contended = 2 // held, and somebody perhaps sleeps
)

// futexLock is the three-state mutex of U. Drepper, "Futexes Are Tricky", Red
// Hat, 2011, in the form that it arrives at in the end, with an exchange in
// the waiters' loop.
//
//	word       who, when                                   to
//	free       Lock, TryLock: compare-and-swap             held
//	free       Lock of a worker that has waited: swap      contended, and has the lock
//	held       a waiter: swap                              contended, and sleeps
//	contended  a waiter: swap, no change                   contended, and sleeps
//	held       Unlock: swap                                free
//	contended  Unlock: swap                                free, and wakes one sleeper
//
// A worker that has waited takes the lock as contended, not held: it cannot
// know whether it was the last sleeper. The price is one FUTEX_WAKE too many
// at the end of a busy time; the gain is that no sleeper is forgotten: a
// worker sleeps only in FUTEX_WAIT(contended), and the kernel compares the
// word with that under its queue's lock. So either the Unlock whose swap takes
// contended away comes before the comparison, which fails; or the sleeper is
// in the queue when that Unlock wakes one. Whoever is woken puts contended
// back before it takes the lock or sleeps again, on behalf of those that still
// sleep.
//
// Unlock is a swap, where Drepper has an atomic decrement and then, if
// contended, a store. It decides by the old value whether to enter the kernel;
// a plain release store could not tell.
//
// # Memory order
//
// Lock succeeds by a compare-and-swap or swap that observes the swap to free of
// the Unlock before it: that is synchronized before it (go.dev/ref/mem). The
// system calls carry no part of the argument; a woken worker learns
// from the word alone whether it has the lock.
//
// The word has lock.CacheLine bytes of padding on both sides.
type futexLock struct {
	_    [lock.CacheLine]byte
	word uint32
	_    [lock.CacheLine]byte
}

func newFutex(int) *futexLock { return &futexLock{} }

// NewHandle returns a worker's access to the lock.
func (l *futexLock) NewHandle(*lock.Worker) lock.Handle { return &futexHandle{l: l} }

// futexHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type futexHandle struct {
	l *futexLock
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*futexHandle)(nil)
	_ lock.TryLocker = (*futexHandle)(nil)
)

// Lock waits for the lock, asleep in the kernel.
func (h *futexHandle) Lock() {
	if !atomic.CompareAndSwapUint32(&h.l.word, free, held) {
		h.lockSlow()
	}
}

// lockSlow does not spin: Drepper's mutex does not, and the benchmark has
// spinning locks enough.
//
//go:noinline
func (h *futexHandle) lockSlow() {
	for atomic.SwapUint32(&h.l.word, contended) != free {
		wait(&h.l.word, contended)
	}
}

// TryLock acquires the lock if it is free.
func (h *futexHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.word, free, held) }

// Unlock releases the lock and wakes a sleeper if there may be one.
func (h *futexHandle) Unlock() {
	if atomic.SwapUint32(&h.l.word, free) == contended {
		h.wake()
	}
}

//go:noinline
func (h *futexHandle) wake() { wake(&h.l.word) }
