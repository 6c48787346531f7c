package clh

import (
	"runtime"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// spinTurns is how many turns (one arch.Pause each, 10 to 40 ns on amd64) a
// waiter of clh-yield and clh-park spins before it turns to the scheduler: 1 to
// 4 us. Leaving and re-entering the scheduler costs about as much; spinning for
// as long as blocking costs is at most twice as dear as the best choice made in
// hindsight (Karlin et al., SOSP 1991).
const spinTurns = 100

// yieldLock is the CLH lock whose waiters call runtime.Gosched once they have
// spun spinTurns turns, and then on every further turn.
//
// A FIFO lock hands over to one certain worker. If that worker is not running,
// nobody makes progress until it is; spinning waiters on all processors then
// keep it from running until Go preempts one of them, after 10 ms. A yield ends
// the time slice at once.
//
// Layout, padding, states and memory order are those of clh. Gosched is no part
// of the memory argument.
type yieldLock struct {
	_       [lock.CacheLine]byte
	tail    uint32 // index of the node last queued
	_       [lock.CacheLine]byte
	nodes   []node // workers + 1
	handles []*yieldHandle
}

func newYield(workers int) *yieldLock {
	return &yieldLock{tail: uint32(workers), nodes: newNodes(workers)}
}

// NewHandle returns a worker's access to the lock.
func (l *yieldLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &yieldHandle{tail: &l.tail, nodes: l.nodes, own: uint32(w.ID)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters returns the number of workers that have swapped the tail and are not
// granted the lock.
func (l *yieldLock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// yieldHandle knows the worker's nodes. The padding keeps other workers'
// handles off the line that every acquisition writes.
type yieldHandle struct {
	tail  *uint32 // of the lock
	nodes []node  // of the lock
	own   uint32  // index of the node that this worker queues, or has queued
	spare uint32  // index of the predecessor's node; this worker's once released
	waits uint32  // 1 from the swap of tail to the grant, on the slow path only
	_     [lock.CacheLine]byte
}

var (
	_ lock.Handle = (*yieldHandle)(nil)
	_ lock.Waiter = (*yieldLock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *yieldHandle) Lock() {
	h.spare = atomic.SwapUint32(h.tail, h.own)
	if atomic.LoadUint32(&h.nodes[h.spare].held) != 0 {
		h.wait()
	}
}

//go:noinline
func (h *yieldHandle) wait() {
	pred := &h.nodes[h.spare]
	arch.StoreRelease32(&h.waits, 1)
	for turn := 0; atomic.LoadUint32(&pred.held) != 0; {
		if turn < spinTurns {
			turn++
			arch.Pause()
		} else {
			runtime.Gosched()
		}
	}
	arch.StoreRelease32(&h.waits, 0)
}

// Unlock releases the own node and takes the spare for it.
func (h *yieldHandle) Unlock() {
	arch.StoreRelease32(&h.nodes[h.own].held, 0)
	h.own = h.spare
	h.nodes[h.own].held = 1
}
