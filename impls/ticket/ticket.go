package ticket

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// ticketLock is the plain ticket lock. Its states and its memory order are
// those of the package comment.
//
// The two counters stand on lines of their own, lock.CacheLine bytes apart: an
// arrival must not take the line that the waiters read and the holder is about
// to write. Without contention that is one more line in the cache.
//
// TryLock takes the ticket only if it is the one being served, that is, by a
// compare-and-swap of last to the value that serving was seen to have, from the
// one before. Success means that nobody drew that ticket before; since serving
// already has its number, the lock is acquired. If it fails then somebody had
// drawn it, or did so meanwhile: the lock was held at some moment of the call.
// (To be fooled the call would have to sleep for exactly 2^32 acquisitions.)
type ticketLock struct {
	_       [lock.CacheLine]byte
	last    uint32 // the last ticket drawn
	_       [lock.CacheLine]byte
	serving uint32 // the ticket that holds or may take the lock
	_       [lock.CacheLine]byte
}

func newTicket(int) *ticketLock { return newTicketAt(0) }

// newTicketAt returns a free lock whose first ticket is start; tests begin
// near the wrap.
func newTicketAt(start uint32) *ticketLock { return &ticketLock{last: start - 1, serving: start} }

// NewHandle returns a worker's access to the lock.
func (l *ticketLock) NewHandle(*lock.Worker) lock.Handle { return &ticketHandle{l: l} }

// Waiters returns the number of tickets drawn and not yet served.
func (l *ticketLock) Waiters() int { return waiting(&l.serving, &l.last) }

// ticketHandle has no state of its own: the holder's ticket is serving. The
// padding keeps off its line what the allocator puts next to it.
type ticketHandle struct {
	l *ticketLock
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*ticketHandle)(nil)
	_ lock.TryLocker = (*ticketHandle)(nil)
	_ lock.Waiter    = (*ticketLock)(nil)
)

// Lock draws a ticket and waits until it is served.
func (h *ticketHandle) Lock() {
	if t := atomic.AddUint32(&h.l.last, 1); atomic.LoadUint32(&h.l.serving) != t {
		h.wait(t)
	}
}

//go:noinline
func (h *ticketHandle) wait(t uint32) {
	for atomic.LoadUint32(&h.l.serving) != t {
		arch.Pause()
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
func (h *ticketHandle) TryLock() bool {
	s := atomic.LoadUint32(&h.l.serving)
	return atomic.CompareAndSwapUint32(&h.l.last, s-1, s)
}

// Unlock serves the next ticket, drawn or not.
func (h *ticketHandle) Unlock() {
	arch.StoreRelease32(&h.l.serving, atomic.LoadUint32(&h.l.serving)+1)
}
