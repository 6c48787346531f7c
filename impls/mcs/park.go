package mcs

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// The states of a parkNode.
const (
	granted  = 0 // not waiting: outside, or holds the lock
	spinning = 1
	asleep   = 2
)

// parkLock is the MCS lock whose waiters block in their node once they have
// spun spinTurns turns. A node's wait word, W its worker, R its predecessor:
//
//	wait      who, when                          to        and then
//	granted   W, after its swap, before its link spinning  links, spins
//	spinning  W, has spun: compare-and-swap      asleep    receives
//	spinning  R, hands over: swap                granted   nothing
//	asleep    R, hands over: swap                granted   sends one token
//
// No wake-up is lost: R's grant and its look at the sleeper are one atomic
// operation, W's last look and its falling asleep are another one on the same
// word, and the word's operations have an order. If R's comes first, W's
// compare-and-swap fails and W holds the lock; if W's comes first, R's swap
// returns asleep. No wake-up is stale: R sends only to the W that it has put to
// granted, and W cannot leave, nor its node come into the queue again, before
// it has received. So the channel is empty whenever wait is not asleep, and a
// send never blocks.
//
// A plain release store could not serve here: R would have to read the word
// again after its store, and package arch forbids just that.
//
// Queue, padding and TryLock are those of mcs.
type parkLock struct {
	_     [lock.CacheLine]byte
	tail  uint32 // index of the last node in the queue, 0 = free
	_     [lock.CacheLine]byte
	nodes []parkNode // by index, worker ID + 1; nodes[0] is unused
}

// parkNode is one worker's place in the queue, padded to lock.CacheLine bytes.
// The allocator puts an 8-byte header before large arrays that hold pointers;
// the fields are at the beginning so that even then no two nodes' share a line.
type parkNode struct {
	next  uint32 // index of the successor, 0 = none yet
	wait  uint32
	token chan struct{} // room for one
	_     [lock.CacheLine - 16]byte
}

func newPark(workers int) *parkLock {
	l := &parkLock{nodes: make([]parkNode, workers+1)}
	for i := range l.nodes {
		l.nodes[i].token = make(chan struct{}, 1)
	}
	return l
}

// NewHandle returns a worker's access to the lock.
func (l *parkLock) NewHandle(w *lock.Worker) lock.Handle {
	return &parkHandle{l: l, node: &l.nodes[w.ID+1], id: uint32(w.ID + 1)}
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock. It reads every node.
func (l *parkLock) Waiters() int {
	n := 0
	for i := range l.nodes {
		if atomic.LoadUint32(&l.nodes[i].wait) != granted {
			n++
		}
	}
	return n
}

// parkHandle never changes; what changes is in the node. The padding keeps off
// its line what the allocator puts next to it.
type parkHandle struct {
	l    *parkLock
	node *parkNode // l.nodes[id]
	id   uint32    // > 0
	_    [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*parkHandle)(nil)
	_ lock.TryLocker = (*parkHandle)(nil)
	_ lock.Waiter    = (*parkLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *parkHandle) Lock() {
	if pred := atomic.SwapUint32(&h.l.tail, h.id); pred != 0 {
		h.wait(pred)
	}
}

//go:noinline
func (h *parkHandle) wait(pred uint32) {
	n := h.node
	atomic.StoreUint32(&n.wait, spinning)
	atomic.StoreUint32(&h.l.nodes[pred].next, h.id)
	for range spinTurns {
		if atomic.LoadUint32(&n.wait) == granted {
			return
		}
		arch.Pause()
	}
	if atomic.CompareAndSwapUint32(&n.wait, spinning, asleep) {
		<-n.token
	}
}

// TryLock acquires the lock if nobody holds it.
func (h *parkHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id) }

// Unlock hands the lock to the successor, or leaves it free.
func (h *parkHandle) Unlock() {
	if atomic.LoadUint32(&h.node.next) != 0 || !atomic.CompareAndSwapUint32(&h.l.tail, h.id, 0) {
		h.hand()
	}
}

// hand waits for the link of a successor that has swapped the tail, and grants
// it the lock. The link is two stores away, so that it is not worth sleeping
// for; after spinTurns turns the successor must have been preempted, and the
// wait yields.
//
//go:noinline
func (h *parkHandle) hand() {
	n := h.node
	for turn := 0; atomic.LoadUint32(&n.next) == 0; turn++ {
		pauseOrYield(turn)
	}
	succ := &h.l.nodes[n.next] // plain: written once a round, and that write has been observed
	n.next = 0
	if atomic.SwapUint32(&succ.wait, granted) == asleep {
		succ.token <- struct{}{}
	}
}
