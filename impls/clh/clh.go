package clh

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// clhLock is the plain CLH lock. Queue, ownership and memory order are those
// of the package comment. A node's word:
//
//	held  meaning                                        left by
//	1     own node of a worker: outside, waits or holds  its Unlock
//	0     released: the successor may take the lock      the successor's Unlock,
//	                                                     as its new own node
//
// The lock is free when the node in tail is released.
//
// The tail has lock.CacheLine bytes of padding on both sides, and every node is
// that large.
type clhLock struct {
	_       [lock.CacheLine]byte
	tail    uint32 // index of the node last queued
	_       [lock.CacheLine]byte
	nodes   []node // workers + 1
	handles []*clhHandle
}

// node is lock.CacheLine long.
type node struct {
	held uint32
	_    [lock.CacheLine - 4]byte
}

func newCLH(workers int) *clhLock {
	return &clhLock{tail: uint32(workers), nodes: newNodes(workers)}
}

// newNodes returns the nodes of a free lock: worker i begins with node i, and
// the last one, released, is the one in tail.
func newNodes(workers int) []node {
	nodes := make([]node, workers+1)
	for i := range workers {
		nodes[i].held = 1
	}
	return nodes
}

// NewHandle returns a worker's access to the lock.
func (l *clhLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &clhHandle{tail: &l.tail, nodes: l.nodes, own: uint32(w.ID)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock.
func (l *clhLock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// clhHandle knows the worker's nodes. The padding keeps other workers' handles
// off the line that every acquisition writes.
type clhHandle struct {
	tail  *uint32 // of the lock
	nodes []node  // of the lock
	own   uint32  // index of the node that this worker queues, or has queued
	spare uint32  // index of the predecessor's node; this worker's once released
	waits uint32  // 1 from the swap of tail to the grant, on the slow path only
	_     [lock.CacheLine]byte
}

var (
	_ lock.Handle = (*clhHandle)(nil)
	_ lock.Waiter = (*clhLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *clhHandle) Lock() {
	h.spare = atomic.SwapUint32(h.tail, h.own)
	if atomic.LoadUint32(&h.nodes[h.spare].held) != 0 {
		h.wait()
	}
}

// wait raises waits for Waiters; nothing else depends on it, so that both
// stores may be release stores, which the worker does not wait for.
//
//go:noinline
func (h *clhHandle) wait() {
	pred := &h.nodes[h.spare]
	arch.StoreRelease32(&h.waits, 1)
	for atomic.LoadUint32(&pred.held) != 0 {
		arch.Pause()
	}
	arch.StoreRelease32(&h.waits, 0)
}

// Unlock releases the own node and takes the spare for it.
func (h *clhHandle) Unlock() {
	arch.StoreRelease32(&h.nodes[h.own].held, 0)
	h.own = h.spare
	h.nodes[h.own].held = 1
}
