package spin

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// The bounds of the back-off, in spin turns (one arch.Pause each, 10 to 40 ns
// on amd64). Both are powers of two, so that a mask draws below them.
const (
	// backoffMin is one transfer of a cache line between two cores, about
	// 100 ns: the winner of the burst needs that long to see its own success,
	// and a waiter that comes back earlier only takes the line from it.
	backoffMin = 4
	// backoffMax is about 10 us, the time in which several workers pass
	// through a short section. A higher bound would rarely win a swap more,
	// and lets an unlucky worker sleep through a lock that has become free.
	backoffMax = 256
)

// ttasBackoff is ttas with truncated exponential back-off.
//
//	word  meaning  left by
//	0     free     Lock, TryLock: swap to 1
//	1     held     Unlock: store of 0
//
// A waiter that saw the word free and lost the swap learns that there is
// competition. It stays away for a random number of turns below a limit that
// doubles with each lost swap of the same Lock, up to backoffMax: the burst of
// n swaps at a release spreads out in time (Agarwal and Cherian, ISCA 1989;
// Anderson, IEEE TPDS 1990, who takes the idea from Ethernet). It backs off
// only after a lost swap, not while the lock is held, so that a free lock is
// seen at once by at least the waiters that have not lost yet.
//
// The delay is drawn from the whole range: with a fixed one the losers of one
// burst would meet again in the next.
//
// The word has lock.CacheLine bytes of padding on both sides.
type ttasBackoff struct {
	_    [lock.CacheLine]byte
	word uint32 // 0 or 1
	_    [lock.CacheLine]byte
}

func newTTASBackoff(int) *ttasBackoff { return &ttasBackoff{} }

// NewHandle returns a worker's access to the lock. The jitter depends on the
// worker's ID alone, so that runs can be repeated.
func (l *ttasBackoff) NewHandle(w *lock.Worker) lock.Handle {
	// Multiplying by 2^32 divided by the golden ratio (Knuth, TAOCP vol. 3,
	// 6.4) spreads neighbouring IDs; the lowest bit keeps the state from 0.
	return &ttasBackoffHandle{l: l, rng: uint32(w.ID+1)*0x9e3779b9 | 1}
}

// ttasBackoffHandle owns the worker's random numbers. The padding keeps other
// workers' handles off the line that drawing writes.
type ttasBackoffHandle struct {
	l   *ttasBackoff
	rng uint32 // xorshift state, never 0
	_   [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*ttasBackoffHandle)(nil)
	_ lock.TryLocker = (*ttasBackoffHandle)(nil)
)

// Lock waits for the lock.
func (h *ttasBackoffHandle) Lock() {
	if atomic.LoadUint32(&h.l.word) != 0 || atomic.SwapUint32(&h.l.word, 1) != 0 {
		h.lockSlow()
	}
}

//go:noinline
func (h *ttasBackoffHandle) lockSlow() {
	for limit := uint32(backoffMin); ; limit = min(2*limit, backoffMax) {
		for atomic.LoadUint32(&h.l.word) != 0 {
			arch.Pause()
		}
		if atomic.SwapUint32(&h.l.word, 1) == 0 {
			return
		}
		for n := h.draw() & (limit - 1); n > 0; n-- {
			arch.Pause()
		}
	}
}

// draw returns the next random number: xorshift with shifts 13, 17, 5
// (G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8(14), 2003).
func (h *ttasBackoffHandle) draw() uint32 {
	x := h.rng
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	h.rng = x
	return x
}

// TryLock acquires the lock if it is free.
func (h *ttasBackoffHandle) TryLock() bool {
	return atomic.LoadUint32(&h.l.word) == 0 && atomic.SwapUint32(&h.l.word, 1) == 0
}

// Unlock releases the lock.
func (h *ttasBackoffHandle) Unlock() { arch.StoreRelease32(&h.l.word, 0) }
