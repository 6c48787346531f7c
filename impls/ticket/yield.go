package ticket

import (
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// spinTurns is how many turns (one arch.Pause each, 10 to 40 ns on amd64) a
// waiter of ticket-yield and ticket-park spins before it turns to the
// scheduler: 1 to 4 us. Leaving and re-entering the scheduler costs about as
// much; spinning for as long as blocking costs is at most twice as dear as the
// best choice made in hindsight (Karlin et al., SOSP 1991).
const spinTurns = 100

// yieldLock is the ticket lock whose waiters call runtime.Gosched once they
// have spun spinTurns turns, and then on every further turn.
//
// A FIFO lock hands over to one certain worker. If that worker is not running,
// nobody makes progress until it is; spinning waiters on all processors then
// keep it from running until Go preempts one of them, after 10 ms. A yield ends
// the time slice at once. Yielding waiters remain runnable: the scheduler
// cycles through them, O(waiters) yields until the right one is up.
//
// Layout, states, memory order and TryLock are those of ticketLock; the
// counters stand on lines of their own, lock.CacheLine bytes apart. Gosched is
// no part of the memory argument.
type yieldLock struct {
	_       [lock.CacheLine]byte
	last    uint32 // the last ticket drawn
	_       [lock.CacheLine]byte
	serving uint32 // the ticket that holds or may take the lock
	_       [lock.CacheLine]byte
}

func newYield(int) *yieldLock { return newYieldAt(0) }

func newYieldAt(start uint32) *yieldLock { return &yieldLock{last: start - 1, serving: start} }

// NewHandle returns a worker's access to the lock.
func (l *yieldLock) NewHandle(*lock.Worker) lock.Handle { return &yieldHandle{l: l} }

// Waiters returns the number of tickets drawn and not yet served.
func (l *yieldLock) Waiters() int { return waiting(&l.serving, &l.last) }

// yieldHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type yieldHandle struct {
	l *yieldLock
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*yieldHandle)(nil)
	_ lock.TryLocker = (*yieldHandle)(nil)
	_ lock.Waiter    = (*yieldLock)(nil)
)

// Lock draws a ticket and waits until it is served.
func (h *yieldHandle) Lock() {
	if t := atomic.AddUint32(&h.l.last, 1); atomic.LoadUint32(&h.l.serving) != t {
		h.wait(t)
	}
}

//go:noinline
func (h *yieldHandle) wait(t uint32) {
	for turn := 0; atomic.LoadUint32(&h.l.serving) != t; {
		if turn < spinTurns {
			turn++
			arch.Pause()
		} else {
			runtime.Gosched()
		}
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
func (h *yieldHandle) TryLock() bool {
	s := atomic.LoadUint32(&h.l.serving)
	return atomic.CompareAndSwapUint32(&h.l.last, s-1, s)
}

// Unlock serves the next ticket, drawn or not.
func (h *yieldHandle) Unlock() {
	arch.StoreRelease32(&h.l.serving, atomic.LoadUint32(&h.l.serving)+1)
}
