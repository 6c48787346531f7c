package classic

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// bakeryLock is Lamport's bakery algorithm. A worker takes a number one above
// all that it sees, and waits for everybody with a lower one; equal numbers
// are decided by the worker's ID.
//
//	choosing   number   worker i
//	0          0        is outside
//	1          0        is in the doorway: reads the others' numbers
//	1          n        is about to leave the doorway
//	0          n        waits or is inside: its place is fixed
//
// # Exclusion
//
// Whoever waits for worker j first waits for j to leave the doorway. So it
// reads either the number that j has, or no number, and then j's doorway
// began after our number was written, j saw it and took a higher one. Of two
// workers with numbers the higher one therefore waits for the lower one. This
// needs our number to be visible before we read choosing[j] and number[j],
// and choosing[i] = 1 to be visible before we read the numbers: sequentially
// consistent stores, as the package comment says. (Lamport's proof asks for
// even less of the memory than atomic words, but for this order.)
//
// # First come, first served
//
// If worker i has left the doorway before worker j enters it, j sees number i
// and takes a higher one: i is granted the lock first. Workers that are in
// the doorway at the same time have no order. That is what Info.FIFO claims.
// The doorway is finite: n-1 reads, no waiting.
//
// # Overflow
//
// Numbers grow only while somebody has one: as soon as the bakery is empty
// the next number is 1 again. While it never empties a number grows by one an
// acquisition, so that 64 bits last for 580 years at one a nanosecond. If it
// did wrap, the wrapped number 0 would mean "outside" and let two in; no code
// guards against the year.
//
// # Exit
//
// One release store of number 0, after which Unlock reads nothing. A worker
// in its doorway that still sees the old number takes a number higher than it
// had to: its place is the same.
type bakeryLock struct {
	slots []bakerySlot
}

// A bakerySlot is what one worker writes and all read, atomically, on lines
// of its own. Both words share a line as they are read together.
type bakerySlot struct {
	number   uint64
	choosing uint32
	_        [lock.CacheLine - 12]byte
}

// bakeryHandle is one worker's access.
type bakeryHandle struct {
	l    *bakeryLock
	mine *bakerySlot
	id   int
}

var (
	_ lock.Handle = (*bakeryHandle)(nil)
	_ lock.Waiter = (*bakeryLock)(nil)
)

func newBakery(workers int) (lock.Lock, error) {
	return &bakeryLock{slots: make([]bakerySlot, workers)}, nil
}

// NewHandle implements lock.Lock.
func (l *bakeryLock) NewHandle(w *lock.Worker) lock.Handle {
	return &bakeryHandle{l: l, mine: &l.slots[w.ID], id: w.ID}
}

// Lock takes a number and waits for everybody who is before it.
func (h *bakeryHandle) Lock() {
	slots := h.l.slots
	atomic.StoreUint32(&h.mine.choosing, 1)
	highest := uint64(0)
	for j := range slots {
		highest = max(highest, atomic.LoadUint64(&slots[j].number))
	}
	number := highest + 1
	atomic.StoreUint64(&h.mine.number, number)
	atomic.StoreUint32(&h.mine.choosing, 0)

	for j := range slots {
		if j == h.id {
			continue
		}
		other := &slots[j]
		for spins := 0; atomic.LoadUint32(&other.choosing) != 0; spins++ {
			relax(spins)
		}
		for spins := 0; other.before(number, j < h.id); spins++ {
			relax(spins)
		}
	}
}

// before reports whether the slot's worker goes before one with the given
// number; wins says who goes first if the numbers are equal.
func (s *bakerySlot) before(number uint64, wins bool) bool {
	n := atomic.LoadUint64(&s.number)
	return n != 0 && (n < number || n == number && wins)
}

// Unlock gives the number back.
func (h *bakeryHandle) Unlock() { arch.StoreRelease64(&h.mine.number, 0) }

// Waiters implements lock.Waiter: those with a number whose doorway is behind
// them, less the one who is inside. A worker in the doorway is not counted:
// its place is not fixed. While the lock is held the holder is among those
// counted, and only then is the result exact.
func (l *bakeryLock) Waiters() int {
	n := 0
	for j := range l.slots {
		s := &l.slots[j]
		if atomic.LoadUint64(&s.number) != 0 && atomic.LoadUint32(&s.choosing) == 0 {
			n++
		}
	}
	return max(n-1, 0)
}
