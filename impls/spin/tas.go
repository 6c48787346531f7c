package spin

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// tas is the test-and-set lock.
//
//	word  meaning  left by
//	0     free     Lock, TryLock: swap to 1
//	1     held     Unlock: store of 0
//
// Every turn of a waiter is a swap, which takes the line exclusively even when
// the lock is held and the value does not change. n waiters therefore keep the
// line moving all the time and delay the holder's release, which needs it too.
// That is the lock's known flaw and the reason for ttas (Anderson, IEEE TPDS
// 1990).
//
// The word has lock.CacheLine bytes of padding on both sides.
type tas struct {
	_    [lock.CacheLine]byte
	word uint32 // 0 or 1
	_    [lock.CacheLine]byte
}

func newTAS(int) *tas { return &tas{} }

// NewHandle returns a worker's access to the lock.
func (l *tas) NewHandle(*lock.Worker) lock.Handle { return &tasHandle{l: l} }

// tasHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type tasHandle struct {
	l *tas
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*tasHandle)(nil)
	_ lock.TryLocker = (*tasHandle)(nil)
)

// Lock waits for the lock.
func (h *tasHandle) Lock() {
	if atomic.SwapUint32(&h.l.word, 1) != 0 {
		h.lockSlow()
	}
}

//go:noinline
func (h *tasHandle) lockSlow() {
	for atomic.SwapUint32(&h.l.word, 1) != 0 {
		arch.Pause()
	}
}

// TryLock acquires the lock if it is free. On a held lock the swap writes the
// value that is already there.
func (h *tasHandle) TryLock() bool { return atomic.SwapUint32(&h.l.word, 1) == 0 }

// Unlock releases the lock.
func (h *tasHandle) Unlock() { arch.StoreRelease32(&h.l.word, 0) }
