package array

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// parkLock is the array-based queue lock whose waiters block in their slot
// once they have spun spinTurns turns.
//
// A slot's word is 64 bits wide: the ticket last granted in it, and above that
// a bit that says that the next round's waiter is asleep. The waiter with
// ticket t, in a lock of n slots, sees:
//
//	word           who, when                               to             and then
//	t-n            waiter, has spun: compare-and-swap      t-n | asleep   receives
//	t-n            releaser of t-1: swap                   t              nothing
//	t-n | asleep   releaser of t-1: swap                   t              sends one token
//	t              waiter: load, or failed compare-and-swap   -           holds the lock
//
// No wake-up is lost and none is stale, because the grant and the question
// "is it asleep?" are one atomic operation on one word, and so are the waiter's
// "still not granted?" and its falling asleep: whichever of the two comes first
// in the word's order is seen by the other. Every token is sent for one
// sleeper, which receives it before it holds the lock; a send never blocks, and
// the channel is empty when the next round's waiter comes to the slot. (With a
// plain release store the releaser could not know; compare ticket-park, where
// grant and sleeper are different words.)
//
// The swap that grants is synchronized before the load, the failed
// compare-and-swap or the receive by which the waiter learns of it.
//
// The counter has lock.CacheLine bytes of padding on both sides.
type parkLock struct {
	_     [lock.CacheLine]byte
	last  uint32 // the last ticket drawn
	_     [lock.CacheLine]byte
	slots []parkSlot // a power of two, >= workers
}

// asleep is above the 32 bits of the ticket.
const asleep = 1 << 32

// parkSlot is where one waiter spins or blocks. It is padded to lock.CacheLine
// bytes. The allocator puts an 8-byte header before large arrays that hold
// pointers; the fields are at the beginning so that even then no two slots'
// share a line.
type parkSlot struct {
	word  atomic.Uint64 // the ticket last granted here, asleep
	token chan struct{} // room for one
	_     [lock.CacheLine - 16]byte
}

func newPark(workers int) *parkLock { return newParkAt(workers, 0) }

func newParkAt(workers int, start uint32) *parkLock {
	l := &parkLock{last: start - 1, slots: make([]parkSlot, slotCount(workers))}
	for i, s := range newSlots(workers, start) {
		l.slots[i].word.Store(uint64(s.ticket))
		l.slots[i].token = make(chan struct{}, 1)
	}
	return l
}

// NewHandle returns a worker's access to the lock.
func (l *parkLock) NewHandle(*lock.Worker) lock.Handle {
	return &parkHandle{l: l, slots: l.slots, mask: uint32(len(l.slots) - 1)}
}

// Waiters returns the number of tickets drawn and not yet granted. It reads
// every slot.
func (l *parkLock) Waiters() int {
	return waiting(len(l.slots),
		func(i uint32) uint32 { return uint32(l.slots[i].word.Load()) },
		func() uint32 { return atomic.LoadUint32(&l.last) })
}

// parkHandle keeps the ticket between Lock and Unlock. The padding keeps
// other workers' handles off the line that Lock writes.
type parkHandle struct {
	l      *parkLock
	slots  []parkSlot // l.slots
	mask   uint32     // len(slots)-1
	ticket uint32     // drawn by this worker's last acquisition
	_      [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*parkHandle)(nil)
	_ lock.TryLocker = (*parkHandle)(nil)
	_ lock.Waiter    = (*parkLock)(nil)
)

// Lock draws a ticket and waits until it is granted.
func (h *parkHandle) Lock() {
	t := atomic.AddUint32(&h.l.last, 1)
	h.ticket = t
	s := &h.slots[t&h.mask]
	w := s.word.Load()
	for turn := 0; uint32(w) != t && turn < spinTurns; turn++ {
		arch.Pause()
		w = s.word.Load()
	}
	// w is t-n here, or t. Nobody but the releaser of t-1 changes the word
	// besides, so that a failed compare-and-swap means granted.
	if uint32(w) != t && s.word.CompareAndSwap(w, w|asleep) {
		<-s.token
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
func (h *parkHandle) TryLock() bool {
	t := atomic.LoadUint32(&h.l.last) + 1
	if uint32(h.slots[t&h.mask].word.Load()) != t || !atomic.CompareAndSwapUint32(&h.l.last, t-1, t) {
		return false
	}
	h.ticket = t
	return true
}

// Unlock grants the next ticket, drawn or not, and wakes its worker if that
// sleeps.
func (h *parkHandle) Unlock() {
	t := h.ticket + 1
	s := &h.slots[t&h.mask]
	if s.word.Swap(uint64(t)) >= asleep {
		s.token <- struct{}{}
	}
}
