package classic

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// petersonLock is Peterson's algorithm for workers 0 and 1. The tournament
// uses it as the node of its tree.
//
//	wants[i]   worker on side i is inside or waits
//	victim     the side that came last and so gives way
//
//	theirs    victim      I
//	0         any         enter
//	1         the other   enter: it came after me and waits
//	1         me          wait
//
// Exclusion: suppose both are inside. Whoever wrote victim last, say side 1,
// read wants[0] after that, and so after side 0's writes of wants[0] and of
// victim: it saw 1 and itself as the victim, and did not enter by that read.
// A later read that let it in saw wants[0] = 0 (side 0 had left) or victim =
// 0 (side 0 had left and come back, and then waits). The words "after that"
// hold in the total order of sequentially consistent operations only.
//
// Neither side is passed twice: coming back makes it the victim.
//
// Exit: one release store; the other side enters by reading it.
type petersonLock struct {
	_      [lock.CacheLine]byte
	wants  [2]flag
	victim uint32 // 0 or 1; atomic
	_      [lock.CacheLine]byte
}

// petersonHandle is one side of the lock.
type petersonHandle struct {
	mine, theirs, victim *uint32
	side                 uint32
}

var _ lock.Handle = (*petersonHandle)(nil)

func newPeterson(workers int) (lock.Lock, error) {
	if err := checkWorkers("peterson", workers, 2); err != nil {
		return nil, err
	}
	return &petersonLock{}, nil
}

// NewHandle implements lock.Lock.
func (l *petersonLock) NewHandle(w *lock.Worker) lock.Handle {
	h := l.side(w.ID)
	return &h
}

// side returns access to one side of the lock. Its two users must not hold or
// wait on the same side at once; users of a side may change over time.
func (l *petersonLock) side(side int) petersonHandle {
	return petersonHandle{
		mine:   &l.wants[side].word,
		theirs: &l.wants[1-side].word,
		victim: &l.victim,
		side:   uint32(side),
	}
}

// Lock announces itself, gives way, and enters if nobody is there.
func (h *petersonHandle) Lock() {
	atomic.StoreUint32(h.mine, 1)
	atomic.StoreUint32(h.victim, h.side)
	if atomic.LoadUint32(h.theirs) != 0 {
		h.lockSlow()
	}
}

// lockSlow waits until the other side is empty or is the victim.
//
//go:noinline
func (h *petersonHandle) lockSlow() {
	for spins := 0; atomic.LoadUint32(h.theirs) != 0 && atomic.LoadUint32(h.victim) == h.side; spins++ {
		relax(spins)
	}
}

// Unlock leaves.
func (h *petersonHandle) Unlock() { arch.StoreRelease32(h.mine, 0) }
