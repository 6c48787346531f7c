package futex

import (
	"sync/atomic"

	"lockbench/lock"
)

// piLock is a priority-inheriting futex: the kernel knows the owner, and lends it
// the priority of the most urgent waiter. The word's format is the
// kernel's, described in futex(2):
//
//	word                        who, when                           to
//	0, free                     Lock, TryLock: compare-and-swap     tid
//	tid, held, nobody waits     Unlock: compare-and-swap            0
//	tid                         kernel, in a waiter's FUTEX_LOCK_PI tid | FUTEX_WAITERS
//	tid | FUTEX_WAITERS, held   kernel, in Unlock's FUTEX_UNLOCK_PI tid of the top waiter,
//	                                                                | FUTEX_WAITERS if others wait
//
// tid is the owner's thread id, below 2^30; FUTEX_WAITERS is bit 31. Unlock
// with waiters does not free the lock. The kernel writes the next owner into
// the word itself, and its FUTEX_LOCK_PI returns with the lock held. Waiters are
// served by priority, and in their order among equals. (A newcomer can win
// against the first waiter on its way into the kernel: no FIFO claim.)
//
// Owner is a thread, not a goroutine. Info.ThreadBound asks the caller to keep
// each worker's goroutine locked to its thread; only then may the handle
// remember the thread's id.
//
// # Memory order
//
// Fast paths: the compare-and-swap from 0 observes the compare-and-swap to
// 0. When the kernel hands the lock over, it changes the word behind the back of the Go
// memory model (and of the race detector). So the edge is made explicit: before
// FUTEX_UNLOCK_PI the owner atomically adds to baton, after FUTEX_LOCK_PI the new
// owner atomically loads it. The two calls are ordered by the kernel, so that the load
// observes that addition or a later one by a later owner; hence the Unlock is
// synchronized before the Lock (go.dev/ref/mem). FUTEX_LOCK_PI can also
// find the word 0, after an Unlock without system call; for this case the new
// owner also loads the word, whose last write before the kernel's is that Unlock's.
//
// The word has lock.CacheLine bytes of padding on both sides; baton, which only
// the slow paths touch, is behind it.
type piLock struct {
	_     [lock.CacheLine]byte
	word  uint32
	_     [lock.CacheLine]byte
	baton atomic.Uint32 // how often the kernel was asked to hand over, modulo 2^32
	_     [lock.CacheLine]byte
}

func newPI(int) *piLock { return &piLock{} }

// NewHandle returns a worker's access to the lock.
func (l *piLock) NewHandle(*lock.Worker) lock.Handle { return &piHandle{l: l} }

// piHandle remembers its worker's thread. The padding keeps off its line what
// the allocator puts next to it.
type piHandle struct {
	l   *piLock
	tid uint32 // 0 = not asked yet
	_   [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*piHandle)(nil)
	_ lock.TryLocker = (*piHandle)(nil)
)

// Lock waits for the lock, asleep in the kernel. The calling goroutine must be
// locked to its thread, always the same.
func (h *piHandle) Lock() {
	if h.tid == 0 || !atomic.CompareAndSwapUint32(&h.l.word, 0, h.tid) {
		h.lockSlow()
	}
}

//go:noinline
func (h *piHandle) lockSlow() {
	if h.TryLock() {
		return
	}
	lockPI(&h.l.word)
	atomic.LoadUint32(&h.l.word)
	h.l.baton.Load()
}

// TryLock acquires the lock if it is free. The same condition as for Lock
// holds.
func (h *piHandle) TryLock() bool {
	if h.tid == 0 {
		h.tid = threadID()
	}
	return atomic.CompareAndSwapUint32(&h.l.word, 0, h.tid)
}

// Unlock frees the lock, or lets the kernel hand it over.
func (h *piHandle) Unlock() {
	if !atomic.CompareAndSwapUint32(&h.l.word, h.tid, 0) {
		h.hand()
	}
}

//go:noinline
func (h *piHandle) hand() {
	h.l.baton.Add(1)
	unlockPI(&h.l.word)
}
