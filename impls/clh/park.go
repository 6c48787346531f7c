package clh

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// The states of a parkNode.
const (
	released = 0
	held     = 1
	asleep   = 2
)

// parkLock is the CLH lock whose waiters block in their predecessor's node
// once they have spun spinTurns turns. A node's state, R its worker, W the
// successor:
//
//	state     meaning                        who, when                    to        and then
//	held      R is outside, waits or holds   R, unlocks: swap             released  nothing
//	                                         W, has spun: c-a-s           asleep    receives
//	asleep    the same, and W sleeps         R, unlocks: swap             released  sends one token
//	released  W may take the lock            W, unlocks: its new own      held
//
// No wake-up is lost: R's release and its look at the sleeper are one atomic
// operation, W's last look and its falling asleep are another one on the same
// word, and the word's operations have an order. If R's comes first, W's
// compare-and-swap fails and W holds the lock; if W's comes first, R's swap
// returns asleep. No wake-up is stale: a node has one successor a round, W does
// not return before it has received, and only then can the node be queued
// again. So the channel is empty whenever the state is not asleep, and a send
// never blocks. When R sends, W blocks on the node, which is therefore still
// the one that R released.
//
// A plain release store could not serve here: R would have to read the word
// again after its store, and package arch forbids just that.
//
// Queue, ownership of nodes and memory order are those of the package comment.
// The tail has lock.CacheLine bytes of padding on both sides.
type parkLock struct {
	_       [lock.CacheLine]byte
	tail    uint32 // index of the node last queued
	_       [lock.CacheLine]byte
	nodes   []parkNode // workers + 1
	handles []*parkHandle
}

// parkNode is padded to lock.CacheLine bytes. The allocator puts an 8-byte
// header before large arrays that hold pointers; the fields are at the
// beginning so that even then no two nodes' share a line.
type parkNode struct {
	state uint32
	token chan struct{} // room for one
	_     [lock.CacheLine - 16]byte
}

func newPark(workers int) *parkLock {
	l := &parkLock{tail: uint32(workers), nodes: make([]parkNode, workers+1)}
	for i := range l.nodes {
		l.nodes[i] = parkNode{state: held, token: make(chan struct{}, 1)}
	}
	l.nodes[l.tail].state = released
	return l
}

// NewHandle returns a worker's access to the lock.
func (l *parkLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &parkHandle{tail: &l.tail, nodes: l.nodes, own: uint32(w.ID)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock.
func (l *parkLock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// parkHandle knows the worker's nodes. The padding keeps other workers' handles
// off the line that every acquisition writes.
type parkHandle struct {
	tail  *uint32    // of the lock
	nodes []parkNode // of the lock
	own   uint32     // index of the node that this worker queues, or has queued
	spare uint32     // index of the predecessor's node; this worker's once released
	waits uint32     // 1 from the swap of tail to the grant, on the slow path only
	_     [lock.CacheLine]byte
}

var (
	_ lock.Handle = (*parkHandle)(nil)
	_ lock.Waiter = (*parkLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *parkHandle) Lock() {
	h.spare = atomic.SwapUint32(h.tail, h.own)
	if atomic.LoadUint32(&h.nodes[h.spare].state) != released {
		h.wait()
	}
}

//go:noinline
func (h *parkHandle) wait() {
	arch.StoreRelease32(&h.waits, 1)
	h.nodes[h.spare].await()
	arch.StoreRelease32(&h.waits, 0)
}

// await returns when the node is released.
func (n *parkNode) await() {
	for range spinTurns {
		if atomic.LoadUint32(&n.state) == released {
			return
		}
		arch.Pause()
	}
	if atomic.CompareAndSwapUint32(&n.state, held, asleep) {
		<-n.token
	}
}

// Unlock releases the own node, wakes the successor if that sleeps, and takes
// the spare for its own.
func (h *parkHandle) Unlock() {
	n := &h.nodes[h.own]
	if atomic.SwapUint32(&n.state, released) == asleep {
		n.token <- struct{}{}
	}
	h.own = h.spare
	h.nodes[h.own].state = held
}
