package classic

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// filterLock is Peterson's algorithm for n workers: n-1 levels, each of which
// keeps at least one of those back that try to pass it.
//
//	level[i]     the level that worker i has reached; 0: it is not interested
//	victim[k]    who reached level k last
//
// To pass level k, worker i writes level[i] = k and victim[k] = i, and waits
// while it is the victim and any other worker is at level k or above.
//
// Exclusion: at most n-k workers are beyond level k. Of those that try to
// pass level k the last one to write victim[k] reads all levels afterwards,
// so it finds the others, or it was overtaken as a victim by one that came
// later still. By induction one is beyond level n-1. "Afterwards" needs both
// writes to be sequentially consistent, see the package comment; the reads of
// the levels need not be a snapshot: a level that is read as lower than k
// belongs to a worker that writes victim[k] after us, and that one is kept back.
//
// Nobody starves, but a worker may be passed any number of times: no FIFO.
// An operation costs O(n^2) reads without any contention; that is the price of
// reads and writes alone without a tree.
//
// Exit: one release store of level 0.
type filterLock struct {
	level  []flag   // by worker
	victim []victim // by level; entry 0 is not used
}

// A victim is the word of one level, used atomically.
type victim struct {
	word uint32
	_    [lock.CacheLine - 4]byte
}

// filterHandle is one worker's access.
type filterHandle struct {
	l    *filterLock
	mine *uint32
	id   uint32
}

var _ lock.Handle = (*filterHandle)(nil)

func newFilter(workers int) (lock.Lock, error) {
	return &filterLock{level: make([]flag, workers), victim: make([]victim, workers)}, nil
}

// NewHandle implements lock.Lock.
func (l *filterLock) NewHandle(w *lock.Worker) lock.Handle {
	return &filterHandle{l: l, mine: &l.level[w.ID].word, id: uint32(w.ID)}
}

// Lock passes all levels.
func (h *filterHandle) Lock() {
	for k := 1; k < len(h.l.victim); k++ {
		atomic.StoreUint32(h.mine, uint32(k))
		atomic.StoreUint32(&h.l.victim[k].word, h.id)
		for spins := 0; h.mustWait(uint32(k)); spins++ {
			relax(spins)
		}
	}
}

// mustWait reports whether the caller is kept back at level k. It reads the
// victim again for every worker it looks at: the sooner it sees a successor,
// the fewer words of others it pulls out of their caches.
func (h *filterHandle) mustWait(k uint32) bool {
	l := h.l
	for j := range l.level {
		if uint32(j) == h.id {
			continue
		}
		if atomic.LoadUint32(&l.victim[k].word) != h.id {
			return false
		}
		if atomic.LoadUint32(&l.level[j].word) >= k {
			return true
		}
	}
	return false
}

// Unlock goes back to level 0.
func (h *filterHandle) Unlock() { arch.StoreRelease32(h.mine, 0) }
