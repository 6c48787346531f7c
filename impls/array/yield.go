package array

import (
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// spinTurns is how many turns (one arch.Pause each, 10 to 40 ns on amd64) a
// waiter of anderson-yield and anderson-park spins before it turns to the
// scheduler: 1 to 4 us. Leaving and re-entering the scheduler costs about as
// much; spinning for as long as blocking costs is at most twice as dear as the
// best choice made in hindsight (Karlin et al., SOSP 1991).
const spinTurns = 100

// yieldLock is the array-based queue lock whose waiters call runtime.Gosched
// once they have spun spinTurns turns, and then on every further turn.
//
// A FIFO lock hands over to one certain worker. If that worker is not running,
// nobody makes progress until it is; spinning waiters on all processors then
// keep it from running until Go preempts one of them, after 10 ms. A yield ends
// the time slice at once.
//
// Layout, padding, states, memory order and TryLock are those of anderson.
// Gosched is no part of the memory argument.
type yieldLock struct {
	_     [lock.CacheLine]byte
	last  uint32 // the last ticket drawn
	_     [lock.CacheLine]byte
	slots []slot // a power of two, >= workers
}

func newYield(workers int) *yieldLock { return newYieldAt(workers, 0) }

func newYieldAt(workers int, start uint32) *yieldLock {
	return &yieldLock{last: start - 1, slots: newSlots(workers, start)}
}

// NewHandle returns a worker's access to the lock.
func (l *yieldLock) NewHandle(*lock.Worker) lock.Handle {
	return &yieldHandle{l: l, slots: l.slots, mask: uint32(len(l.slots) - 1)}
}

// Waiters returns the number of tickets drawn and not yet granted. It reads
// every slot.
func (l *yieldLock) Waiters() int {
	return waiting(len(l.slots),
		func(i uint32) uint32 { return atomic.LoadUint32(&l.slots[i].ticket) },
		func() uint32 { return atomic.LoadUint32(&l.last) })
}

// yieldHandle keeps the ticket between Lock and Unlock. The padding keeps
// other workers' handles off the line that Lock writes.
type yieldHandle struct {
	l      *yieldLock
	slots  []slot // l.slots
	mask   uint32 // len(slots)-1
	ticket uint32 // drawn by this worker's last acquisition
	_      [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*yieldHandle)(nil)
	_ lock.TryLocker = (*yieldHandle)(nil)
	_ lock.Waiter    = (*yieldLock)(nil)
)

// Lock draws a ticket and waits until it is granted.
func (h *yieldHandle) Lock() {
	t := atomic.AddUint32(&h.l.last, 1)
	h.ticket = t
	s := &h.slots[t&h.mask]
	for turn := 0; atomic.LoadUint32(&s.ticket) != t; {
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
	t := atomic.LoadUint32(&h.l.last) + 1
	if atomic.LoadUint32(&h.slots[t&h.mask].ticket) != t || !atomic.CompareAndSwapUint32(&h.l.last, t-1, t) {
		return false
	}
	h.ticket = t
	return true
}

// Unlock grants the next ticket, drawn or not.
func (h *yieldHandle) Unlock() {
	t := h.ticket + 1
	arch.StoreRelease32(&h.slots[t&h.mask].ticket, t)
}
