package mcs

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// mcsLock is the plain MCS lock. Queue and memory order are those of the
// package comment. A node's wait word:
//
//	wait  meaning                      left by
//	0     outside, or holds the lock   the worker, after its swap of tail
//	1     waits                        the predecessor's Unlock
//
// The tail has lock.CacheLine bytes of padding on both sides, and every node is
// that large.
type mcsLock struct {
	_     [lock.CacheLine]byte
	tail  uint32 // index of the last node in the queue, 0 = free
	_     [lock.CacheLine]byte
	nodes []node // by index, worker ID + 1; nodes[0] is unused
}

// node is one worker's place in the queue. Its padding makes it lock.CacheLine
// long.
type node struct {
	next uint32 // index of the successor, 0 = none yet
	wait uint32
	_    [lock.CacheLine - 8]byte
}

func newMCS(workers int) *mcsLock { return &mcsLock{nodes: make([]node, workers+1)} }

// NewHandle returns a worker's access to the lock.
func (l *mcsLock) NewHandle(w *lock.Worker) lock.Handle {
	return &mcsHandle{l: l, node: &l.nodes[w.ID+1], id: uint32(w.ID + 1)}
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock. It reads every node.
func (l *mcsLock) Waiters() int {
	n := 0
	for i := range l.nodes {
		n += int(atomic.LoadUint32(&l.nodes[i].wait))
	}
	return n
}

// mcsHandle never changes; what changes is in the node. The padding keeps off
// its line what the allocator puts next to it.
type mcsHandle struct {
	l    *mcsLock
	node *node  // l.nodes[id]
	id   uint32 // > 0
	_    [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*mcsHandle)(nil)
	_ lock.TryLocker = (*mcsHandle)(nil)
	_ lock.Waiter    = (*mcsLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *mcsHandle) Lock() {
	if pred := atomic.SwapUint32(&h.l.tail, h.id); pred != 0 {
		h.wait(pred)
	}
}

// wait links this worker's node behind pred and waits. The wait word is raised
// before the link: the predecessor may lower it as soon as it sees the link.
//
//go:noinline
func (h *mcsHandle) wait(pred uint32) {
	atomic.StoreUint32(&h.node.wait, 1)
	atomic.StoreUint32(&h.l.nodes[pred].next, h.id)
	for atomic.LoadUint32(&h.node.wait) != 0 {
		arch.Pause()
	}
}

// TryLock acquires the lock if nobody holds it.
func (h *mcsHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id) }

// Unlock hands the lock to the successor, or leaves it free.
func (h *mcsHandle) Unlock() {
	if atomic.LoadUint32(&h.node.next) != 0 || !atomic.CompareAndSwapUint32(&h.l.tail, h.id, 0) {
		h.hand()
	}
}

// hand waits for the link of a successor that has swapped the tail, and grants
// it the lock.
//
//go:noinline
func (h *mcsHandle) hand() {
	n := h.node
	for atomic.LoadUint32(&n.next) == 0 {
		arch.Pause()
	}
	succ := n.next // plain: written once a round, and that write has been observed
	n.next = 0
	arch.StoreRelease32(&h.l.nodes[succ].wait, 0)
}
