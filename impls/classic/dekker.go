package classic

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// dekkerLock is Dekker's algorithm for workers 0 and 1.
//
//	wants[i]   worker i is inside, or insists on entering
//	turn       who keeps insisting when both want to enter
//
// A worker that meets the other's wish and does not have the turn withdraws
// its own until it has. So of two that insist exactly one steps back, and as
// Unlock gives the turn away, the one that stepped back is next: with two
// workers nobody is passed more than once.
//
// Exclusion: each writes its own word and then reads the other's. In the
// total order of these four operations one of the reads comes after both
// writes, and that worker does not enter. See the package comment for why
// the writes must be atomic.Store.
//
// Exit: both stores of Unlock are release stores. The other worker enters by
// reading wants = 0, which is the later of the two, so it also sees the turn;
// a turn that is read late only prolongs the stepping back.
type dekkerLock struct {
	_     [lock.CacheLine]byte
	wants [2]flag
	turn  uint32 // 0 or 1; atomic
	_     [lock.CacheLine]byte
}

// A flag is one worker's word on its own lines, used atomically.
type flag struct {
	word uint32
	_    [lock.CacheLine - 4]byte
}

// dekkerHandle is one side of the lock.
type dekkerHandle struct {
	l            *dekkerLock
	mine, theirs *uint32
	id           uint32
}

var _ lock.Handle = (*dekkerHandle)(nil)

func newDekker(workers int) (lock.Lock, error) {
	if err := checkWorkers("dekker", workers, 2); err != nil {
		return nil, err
	}
	return &dekkerLock{}, nil
}

// NewHandle implements lock.Lock.
func (l *dekkerLock) NewHandle(w *lock.Worker) lock.Handle {
	return &dekkerHandle{
		l:      l,
		mine:   &l.wants[w.ID].word,
		theirs: &l.wants[1-w.ID].word,
		id:     uint32(w.ID),
	}
}

// Lock insists, and looks whether the other does.
func (h *dekkerHandle) Lock() {
	atomic.StoreUint32(h.mine, 1)
	if atomic.LoadUint32(h.theirs) != 0 {
		h.lockSlow()
	}
}

// lockSlow steps back while it is the other's turn.
//
//go:noinline
func (h *dekkerHandle) lockSlow() {
	for spins := 0; atomic.LoadUint32(h.theirs) != 0; spins++ {
		if atomic.LoadUint32(&h.l.turn) == h.id {
			relax(spins)
			continue
		}
		atomic.StoreUint32(h.mine, 0)
		for spins := 0; atomic.LoadUint32(&h.l.turn) != h.id; spins++ {
			relax(spins)
		}
		atomic.StoreUint32(h.mine, 1)
	}
}

// Unlock gives the turn away and stops insisting.
func (h *dekkerHandle) Unlock() {
	arch.StoreRelease32(&h.l.turn, 1-h.id)
	arch.StoreRelease32(h.mine, 0)
}
