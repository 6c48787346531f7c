package futex

import (
	"sync/atomic"

	"lockbench/lock"
)

// piLock is a priority-inheriting futex: the kernel knows the owner, and lends
// it the priority of the most urgent waiter. The word's format is the
// kernel's, described in futex(2):
//
//	word                 who, when                         to
//	0: free              Lock, TryLock: compare-and-swap   tid
//	tid: held            Unlock: compare-and-swap          0
//	tid                  kernel: a waiter comes            tid | FUTEX_WAITERS
//	tid | FUTEX_WAITERS  kernel: Unlock                    the top waiter's tid, and
//	                                                       FUTEX_WAITERS if more wait
//
// tid is the owner's thread id, below 2^30; FUTEX_WAITERS is bit 31. Unlock
// with waiters does not free the lock. The kernel writes the next owner into
// the word itself, and its FUTEX_LOCK_PI returns with the lock held. Waiters
// are served by priority, and in their order among equals. (A newcomer can win
// against the first waiter on its way into the kernel: no FIFO claim.)
//
// Owner is a thread, not a goroutine. Info.ThreadBound asks the caller to keep
// each worker's goroutine locked to its thread; only then may the handle
// remember the thread's id.
//
// # Memory order
//
// All operations on the word are atomic, those of the kernel too. Taken as
// operations of the goroutine that makes the system call, they give the usual
// edge: Lock's compare-and-swap, or its load after FUTEX_LOCK_PI, observes
// what the last Unlock wrote, itself or in FUTEX_UNLOCK_PI, hence that Unlock
// is synchronized before the Lock (go.dev/ref/mem). But the race detector does
// not see what the kernel writes. For it, and for a reader who does not want
// to take the kernel's part on trust, Unlock adds 0 to the word before it
// calls: an atomic write in the same place of the word's order, and 10 ns
// beside a system call.
//
// The word has lock.CacheLine bytes of padding on both sides.
type piLock struct {
	_    [lock.CacheLine]byte
	word uint32
	_    [lock.CacheLine]byte
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
	atomic.LoadUint32(&h.l.word) // observes the Unlock before
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
	atomic.AddUint32(&h.l.word, 0) // see Memory order
	unlockPI(&h.l.word)
}
