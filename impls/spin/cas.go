package spin

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// cas is the compare-and-swap lock, the loop that most hand-written spin locks
// begin as.
//
//	word  meaning  left by
//	0     free     Lock, TryLock: compare-and-swap 0 -> 1
//	1     held     Unlock: store of 0
//
// On amd64 a failed compare-and-swap takes the line exclusively, just as a
// swap does, so that under contention it behaves like tas and not like ttas.
// On arm64 without LSE a failed attempt ends after its load and leaves the line
// shared. It is here because the difference is often guessed and seldom
// measured. Swap needs no expected value and is what package spin's other
// locks use.
//
// The word has lock.CacheLine bytes of padding on both sides.
type cas struct {
	_    [lock.CacheLine]byte
	word uint32 // 0 or 1
	_    [lock.CacheLine]byte
}

func newCAS(int) *cas { return &cas{} }

// NewHandle returns a worker's access to the lock.
func (l *cas) NewHandle(*lock.Worker) lock.Handle { return &casHandle{l: l} }

// casHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type casHandle struct {
	l *cas
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*casHandle)(nil)
	_ lock.TryLocker = (*casHandle)(nil)
)

// Lock waits for the lock.
func (h *casHandle) Lock() {
	if !h.TryLock() {
		h.lockSlow()
	}
}

//go:noinline
func (h *casHandle) lockSlow() {
	for !atomic.CompareAndSwapUint32(&h.l.word, 0, 1) {
		arch.Pause()
	}
}

// TryLock acquires the lock if it is free. sync/atomic's compare-and-swap does
// not fail spuriously, so that false means held.
func (h *casHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.word, 0, 1) }

// Unlock releases the lock.
func (h *casHandle) Unlock() { arch.StoreRelease32(&h.l.word, 0) }
