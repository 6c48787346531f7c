package mcs

import (
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// spinTurns is how many turns (one arch.Pause each, 10 to 40 ns on amd64) a
// waiter of mcs-yield and mcs-park spins before it turns to the scheduler: 1 to
// 4 us. Leaving and re-entering the scheduler costs about as much; spinning for
// as long as blocking costs is at most twice as dear as the best choice made in
// hindsight (Karlin et al., SOSP 1991).
const spinTurns = 100

// yieldLock is the MCS lock whose waiters call runtime.Gosched once they have
// spun spinTurns turns, and then on every further turn. So does an Unlock that
// waits for its successor's link, because a successor preempted between its
// swap and its link needs a processor to go on.
//
// A FIFO lock hands over to one certain worker. If that worker is not running,
// nobody makes progress until it is; spinning waiters on all processors then
// keep it from running until Go preempts one of them, after 10 ms. A yield ends
// the time slice at once.
//
// Layout, padding, states, memory order and TryLock are those of mcs. Gosched
// is no part of the memory argument.
type yieldLock struct {
	_     [lock.CacheLine]byte
	tail  uint32 // index of the last node in the queue, 0 = free
	_     [lock.CacheLine]byte
	nodes []node // by index, worker ID + 1; nodes[0] is unused
}

func newYield(workers int) *yieldLock { return &yieldLock{nodes: make([]node, workers+1)} }

// NewHandle returns a worker's access to the lock.
func (l *yieldLock) NewHandle(w *lock.Worker) lock.Handle {
	return &yieldHandle{l: l, node: &l.nodes[w.ID+1], id: uint32(w.ID + 1)}
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock. It reads every node.
func (l *yieldLock) Waiters() int {
	n := 0
	for i := range l.nodes {
		n += int(atomic.LoadUint32(&l.nodes[i].wait))
	}
	return n
}

// yieldHandle never changes; what changes is in the node. The padding keeps off
// its line what the allocator puts next to it.
type yieldHandle struct {
	l    *yieldLock
	node *node  // l.nodes[id]
	id   uint32 // > 0
	_    [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*yieldHandle)(nil)
	_ lock.TryLocker = (*yieldHandle)(nil)
	_ lock.Waiter    = (*yieldLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *yieldHandle) Lock() {
	if pred := atomic.SwapUint32(&h.l.tail, h.id); pred != 0 {
		h.wait(pred)
	}
}

//go:noinline
func (h *yieldHandle) wait(pred uint32) {
	atomic.StoreUint32(&h.node.wait, 1)
	atomic.StoreUint32(&h.l.nodes[pred].next, h.id)
	for turn := 0; atomic.LoadUint32(&h.node.wait) != 0; turn++ {
		pauseOrYield(turn)
	}
}

// pauseOrYield spends the turn-th turn, counted from 0, of a wait.
func pauseOrYield(turn int) {
	if turn < spinTurns {
		arch.Pause()
	} else {
		runtime.Gosched()
	}
}

// TryLock acquires the lock if nobody holds it.
func (h *yieldHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id) }

// Unlock hands the lock to the successor, or leaves it free.
func (h *yieldHandle) Unlock() {
	if atomic.LoadUint32(&h.node.next) != 0 || !atomic.CompareAndSwapUint32(&h.l.tail, h.id, 0) {
		h.hand()
	}
}

//go:noinline
func (h *yieldHandle) hand() {
	n := h.node
	for turn := 0; atomic.LoadUint32(&n.next) == 0; turn++ {
		pauseOrYield(turn)
	}
	succ := n.next // plain: written once a round, and that write has been observed
	n.next = 0
	arch.StoreRelease32(&h.l.nodes[succ].wait, 0)
}
