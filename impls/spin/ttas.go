package spin

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// ttas is the test-and-test-and-set lock.
//
//	word  meaning  left by
//	0     free     Lock, TryLock: swap to 1
//	1     held     Unlock: store of 0
//
// A waiter reads the word, which its cache answers as long as nobody writes
// it, and swaps only when it looks free. What remains is the burst at each
// release: all n waiters miss, all swap, one wins, and the others' swaps take
// the line away from it again; O(n) transfers a release (Rudolph and Segall,
// ISCA 1984; Anderson, IEEE TPDS 1990). ttas-backoff thins out the burst.
//
// The read that finds 0 proves nothing and orders nothing: only the swap that
// returns 0 acquires. Lock also reads first when nobody waits. That costs a
// load of a line which the swap needs anyway, and spares the holder a
// transfer in exclusive state when the lock is held.
//
// The word has lock.CacheLine bytes of padding on both sides.
type ttas struct {
	_    [lock.CacheLine]byte
	word uint32 // 0 or 1
	_    [lock.CacheLine]byte
}

func newTTAS(int) *ttas { return &ttas{} }

// NewHandle returns a worker's access to the lock.
func (l *ttas) NewHandle(*lock.Worker) lock.Handle { return &ttasHandle{l: l} }

// ttasHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type ttasHandle struct {
	l *ttas
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*ttasHandle)(nil)
	_ lock.TryLocker = (*ttasHandle)(nil)
)

// Lock waits for the lock.
func (h *ttasHandle) Lock() {
	if atomic.LoadUint32(&h.l.word) != 0 || atomic.SwapUint32(&h.l.word, 1) != 0 {
		h.lockSlow()
	}
}

//go:noinline
func (h *ttasHandle) lockSlow() {
	for {
		for atomic.LoadUint32(&h.l.word) != 0 {
			arch.Pause()
		}
		if atomic.SwapUint32(&h.l.word, 1) == 0 {
			return
		}
	}
}

// TryLock acquires the lock if it is free.
func (h *ttasHandle) TryLock() bool {
	return atomic.LoadUint32(&h.l.word) == 0 && atomic.SwapUint32(&h.l.word, 1) == 0
}

// Unlock releases the lock.
func (h *ttasHandle) Unlock() { arch.StoreRelease32(&h.l.word, 0) }
