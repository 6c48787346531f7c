package array

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// anderson is the plain array-based queue lock. Its states and its memory
// order are those of the package comment.
//
// The counter has lock.CacheLine bytes of padding on both sides, and every slot
// is that large.
type anderson struct {
	_     [lock.CacheLine]byte
	last  uint32 // the last ticket drawn
	_     [lock.CacheLine]byte
	slots []slot // a power of two, >= workers
}

// slot is where one waiter spins. Its padding makes it lock.CacheLine long.
type slot struct {
	ticket uint32 // the last one granted here
	_      [lock.CacheLine - 4]byte
}

func newAnderson(workers int) *anderson { return newAndersonAt(workers, 0) }

// newAndersonAt returns a free lock whose first ticket is start; tests begin
// near the wrap.
func newAndersonAt(workers int, start uint32) *anderson {
	return &anderson{last: start - 1, slots: newSlots(workers, start)}
}

// newSlots returns slots of which start's is granted and all others hold the
// tickets before it.
func newSlots(workers int, start uint32) []slot {
	n := slotCount(workers)
	slots := make([]slot, n)
	for i := range uint32(n) {
		slots[(start-i)&uint32(n-1)].ticket = start - i
	}
	return slots
}

// NewHandle returns a worker's access to the lock.
func (l *anderson) NewHandle(*lock.Worker) lock.Handle {
	return &andersonHandle{l: l, slots: l.slots, mask: uint32(len(l.slots) - 1)}
}

// Waiters returns the number of tickets drawn and not yet granted. It reads
// every slot.
func (l *anderson) Waiters() int {
	return waiting(len(l.slots),
		func(i uint32) uint32 { return atomic.LoadUint32(&l.slots[i].ticket) },
		func() uint32 { return atomic.LoadUint32(&l.last) })
}

// andersonHandle keeps the ticket between Lock and Unlock. The padding keeps
// other workers' handles off the line that Lock writes.
type andersonHandle struct {
	l      *anderson
	slots  []slot // l.slots
	mask   uint32 // len(slots)-1
	ticket uint32 // drawn by this worker's last acquisition
	_      [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*andersonHandle)(nil)
	_ lock.TryLocker = (*andersonHandle)(nil)
	_ lock.Waiter    = (*anderson)(nil)
)

// Lock draws a ticket and waits until it is granted. It is not split into an
// inlined and a slow part: to draw a ticket and find its slot is already more
// than the compiler inlines.
func (h *andersonHandle) Lock() {
	t := atomic.AddUint32(&h.l.last, 1)
	h.ticket = t
	s := &h.slots[t&h.mask]
	for atomic.LoadUint32(&s.ticket) != t {
		arch.Pause()
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
//
// The ticket after last is granted only while the lock is free, and stays so
// until somebody draws it. Thus if the compare-and-swap draws it, it was still
// granted. If not, another worker drew it: the lock was held meanwhile.
// (To be fooled the call would have to sleep for exactly 2^32 acquisitions.)
func (h *andersonHandle) TryLock() bool {
	t := atomic.LoadUint32(&h.l.last) + 1
	if atomic.LoadUint32(&h.slots[t&h.mask].ticket) != t || !atomic.CompareAndSwapUint32(&h.l.last, t-1, t) {
		return false
	}
	h.ticket = t
	return true
}

// Unlock grants the next ticket, drawn or not.
func (h *andersonHandle) Unlock() {
	t := h.ticket + 1
	arch.StoreRelease32(&h.slots[t&h.mask].ticket, t)
}
