package ticket

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

const (
	// turnsPerPlace is how many spin turns (one arch.Pause each, 10 to 40 ns
	// on amd64) a waiter lets pass for each worker between it and the front.
	// It stands for the time of one short section with its handoff, 150 to
	// 600 ns: too low and the waiters disturb each other as in ticket, too high
	// and a place that came up is noticed late. Mellor-Crummey and Scott scale
	// by the shortest section for the same reason.
	turnsPerPlace = 16
	// maxTurns bounds one delay to about 40 us, so that a long line or
	// a wrong guess of the section's length costs at most that.
	maxTurns = 1024
)

// backoffLock is the ticket lock with proportional back-off (Mellor-Crummey
// and Scott, TOCS 1991, section 2.2). A ticket says how many others come first;
// a waiter with k workers between itself and the holder lets k*turnsPerPlace
// turns pass before it reads serving again. The worker at the front reads every
// turn. Exponential back-off would be wrong here: the order is fixed, so that
// a delay that is too long keeps the lock free while all wait.
//
// Layout, states, memory order and TryLock are those of ticketLock; the
// counters stand on lines of their own, lock.CacheLine bytes apart.
type backoffLock struct {
	_       [lock.CacheLine]byte
	last    uint32 // the last ticket drawn
	_       [lock.CacheLine]byte
	serving uint32 // the ticket that holds or may take the lock
	_       [lock.CacheLine]byte
}

func newBackoff(int) *backoffLock { return newBackoffAt(0) }

func newBackoffAt(start uint32) *backoffLock { return &backoffLock{last: start - 1, serving: start} }

// NewHandle returns a worker's access to the lock.
func (l *backoffLock) NewHandle(*lock.Worker) lock.Handle { return &backoffHandle{l: l} }

// Waiters returns the number of tickets drawn and not yet served.
func (l *backoffLock) Waiters() int { return waiting(&l.serving, &l.last) }

// backoffHandle has no state of its own. The padding keeps off its line what
// the allocator puts next to it.
type backoffHandle struct {
	l *backoffLock
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*backoffHandle)(nil)
	_ lock.TryLocker = (*backoffHandle)(nil)
	_ lock.Waiter    = (*backoffLock)(nil)
)

// Lock draws a ticket and waits until it is served.
func (h *backoffHandle) Lock() {
	if t := atomic.AddUint32(&h.l.last, 1); atomic.LoadUint32(&h.l.serving) != t {
		h.wait(t)
	}
}

//go:noinline
func (h *backoffHandle) wait(t uint32) {
	for {
		d := t - atomic.LoadUint32(&h.l.serving) // modulo 2^32: right across the wrap
		if d == 0 {
			return
		}
		// One turn at the front (d = 1). The bound is applied before the
		// product can overflow.
		turns := 1 + min(d-1, maxTurns/turnsPerPlace)*turnsPerPlace
		for ; turns > 0; turns-- {
			arch.Pause()
		}
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
func (h *backoffHandle) TryLock() bool {
	s := atomic.LoadUint32(&h.l.serving)
	return atomic.CompareAndSwapUint32(&h.l.last, s-1, s)
}

// Unlock serves the next ticket, drawn or not.
func (h *backoffHandle) Unlock() {
	arch.StoreRelease32(&h.l.serving, atomic.LoadUint32(&h.l.serving)+1)
}
