package mcs

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"lockbench/lock"
	"lockbench/lock/arch"
)

const (
	// checkTurns is how many spin turns (one arch.Pause each, 10 to 40 ns on
	// amd64) pass between two looks at the clock or the context. A look costs
	// up to 50 ns: 64 turns keep it below a tenth of the wait, and a
	// time-out late by at most 3 us while the waiter runs.
	checkTurns = 64
	// yieldTurns is how many turns pass between two calls of runtime.Gosched:
	// 10 to 40 us, longer than a handoff between running workers takes, so that
	// it does not happen then. When there are more workers than processors
	// the waiter may be what keeps the holder, or the releaser that is to
	// take its abandoned node out, from running. Go would preempt it after
	// 10 ms, longer than most time-outs: without the yield nearly every
	// timed acquisition would fail that just misses a time slice.
	yieldTurns = 1024
)

// The states of an abortNode.
const (
	nodeFree = iota
	nodeWaiting
	nodeAbandoned
	nodeRemoved
)

// abortLock is an MCS lock whose waiters can give up. A waiter that does so
// leaves its node where it is, marked; the holder takes marked nodes out when
// it comes to them in Unlock. A worker that returns before that takes up its
// old place. Each worker has one node for ever, nothing is allocated.
//
// A node's status, W its worker, R the worker that is in Unlock and has come to
// the node as the head of the queue:
//
//	status     meaning                     who, when                     to
//	free       outside, or holds the lock  W, has swapped tail           waiting
//	waiting    in the queue                R: grants, compare-and-swap   free
//	                                       W: gives up, c-a-s            abandoned
//	abandoned  in the queue, W is outside  W: returns, c-a-s             waiting
//	                                       R: takes it out, c-a-s        removed
//	removed    R still uses it             R: has read next, reset it    free
//
// W and R contend for a node in two states only, and in each by a
// compare-and-swap, so that one of them wins:
//   - waiting. If W's fails it has been granted the lock: the acquisition
//     succeeds, late. If R's fails the node is abandoned.
//   - abandoned. If W's fails the node is out, or on its way out: W waits for
//     free and queues afresh. If R's fails W waits again, and R retries to grant.
//     R can be made to retry only by calls of W that time out in between.
//
// "removed" keeps W from the node while R reads its next: without it W could
// queue again and R follow the new link out of the wrong place. When R has left
// the node no link leads to it, next is 0, and it is as good as new.
//
// Abandoned nodes exist only while the lock is held, because R goes on until it
// has granted the lock or emptied the queue. So TryLock may report failure when
// its own node still is in the queue.
//
// # Order
//
// Waiters are granted in the order of their places, but a resumed place is
// older than the call that resumes it: FIFO is not claimed.
//
// # Sources
//
// From He, Scherer and Scott, "Preemption Adaptivity in Time-Published
// Queue-Based Spin Locks", HiPC 2005 (their MCS-TP): marked nodes stay in the
// queue, the releaser takes them out, the returning worker reclaims its place.
// Left out is what gives that lock its name: waiters do not publish time
// stamps and the releaser does not pass over waiters that seem preempted, nor
// does it bound how many nodes it takes out in one Unlock (there are at most
// as many as workers). From Scott and Scherer, "Scalable Queue-Based Spin
// Locks with Timeout", PPoPP 2001: a grant that crosses a time-out counts.
// Their doubly linked queue, from which the leaving waiter unlinks itself by
// handshakes with both neighbours, is not used.
//
// The tail has lock.CacheLine bytes of padding on both sides, and every node is
// that large.
type abortLock struct {
	_     [lock.CacheLine]byte
	tail  uint32 // index of the last node in the queue, 0 = free
	_     [lock.CacheLine]byte
	nodes []abortNode // by index, worker ID + 1; nodes[0] is unused
}

// abortNode is one worker's place in the queue, lock.CacheLine long.
type abortNode struct {
	next   uint32 // index of the successor, 0 = none yet
	status uint32
	_      [lock.CacheLine - 8]byte
}

func newAbort(workers int) *abortLock { return &abortLock{nodes: make([]abortNode, workers+1)} }

// NewHandle returns a worker's access to the lock.
func (l *abortLock) NewHandle(w *lock.Worker) lock.Handle {
	return &abortHandle{l: l, node: &l.nodes[w.ID+1], id: uint32(w.ID + 1)}
}

// Waiters returns the number of waiting nodes. It reads every node.
func (l *abortLock) Waiters() int {
	n := 0
	for i := range l.nodes {
		if atomic.LoadUint32(&l.nodes[i].status) == nodeWaiting {
			n++
		}
	}
	return n
}

// abortHandle changes only when a worker gives up and returns. The padding
// keeps off its line what the allocator puts next to it.
type abortHandle struct {
	l    *abortLock
	node *abortNode // l.nodes[id]
	id   uint32     // > 0
	left bool       // the node was abandoned and is perhaps still in the queue
	_    [lock.CacheLine]byte
}

var (
	_ lock.Handle        = (*abortHandle)(nil)
	_ lock.TryLocker     = (*abortHandle)(nil)
	_ lock.TimedLocker   = (*abortHandle)(nil)
	_ lock.ContextLocker = (*abortHandle)(nil)
	_ lock.Waiter        = (*abortLock)(nil)
)

// Lock joins the queue, or takes up the old place in it, and waits for the
// lock. The fast path is a compare-and-swap, not mcs's swap: it leaves
// everything else to one call, and with it Lock is small enough to be inlined.
func (h *abortHandle) Lock() {
	if h.left || !atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id) {
		h.wait()
	}
}

//go:noinline
func (h *abortHandle) wait() { h.acquire(limit{}) }

// LockFor waits for about d.
func (h *abortHandle) LockFor(d time.Duration) bool {
	return h.TryLock() || d > 0 && h.acquire(limit{start: time.Now(), d: d})
}

// LockContext waits until ctx ends.
func (h *abortHandle) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !h.acquire(limit{done: ctx.Done()}) {
		return ctx.Err()
	}
	return nil
}

// limit says how long to wait; the zero value, for ever.
type limit struct {
	start time.Time
	d     time.Duration // > 0; 0 = no time limit
	done  <-chan struct{}
}

func (l *limit) reached() bool {
	select {
	case <-l.done:
		return true
	default:
		return l.d > 0 && time.Since(l.start) >= l.d
	}
}

// spin spends one turn, counted from 1, of a wait, and reports whether it is to
// end.
func (l *limit) spin(turn int) (reached bool) {
	if turn%yieldTurns == 0 {
		runtime.Gosched()
	} else {
		arch.Pause()
	}
	return turn%checkTurns == 0 && l.reached()
}

// acquire waits for the lock, in the resumed place or in a new one. It returns
// false if the limit was reached first; the node is then abandoned, removed or
// free.
func (h *abortHandle) acquire(lim limit) bool {
	n := h.node
	if !h.left || !atomic.CompareAndSwapUint32(&n.status, nodeAbandoned, nodeWaiting) {
		// The node is free, or is being taken out.
		for turn := 1; atomic.LoadUint32(&n.status) != nodeFree; turn++ {
			if lim.spin(turn) {
				return false
			}
		}
		h.left = false
		pred := atomic.SwapUint32(&h.l.tail, h.id)
		if pred == 0 {
			return true
		}
		// First the status, then the link: it is the link that lets the
		// releaser come.
		atomic.StoreUint32(&n.status, nodeWaiting)
		atomic.StoreUint32(&h.l.nodes[pred].next, h.id)
	}
	h.left = false
	for turn := 1; atomic.LoadUint32(&n.status) == nodeWaiting; turn++ {
		if lim.spin(turn) && atomic.CompareAndSwapUint32(&n.status, nodeWaiting, nodeAbandoned) {
			h.left = true
			return false
		}
	}
	return true
}

// TryLock acquires the lock if nobody holds it.
func (h *abortHandle) TryLock() bool {
	if h.left && atomic.LoadUint32(&h.node.status) != nodeFree {
		return false
	}
	h.left = false
	return atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id)
}

// Unlock hands the lock to the first waiter that has not given up, or leaves it
// free.
func (h *abortHandle) Unlock() {
	if atomic.LoadUint32(&h.node.next) != 0 || !atomic.CompareAndSwapUint32(&h.l.tail, h.id, 0) {
		h.hand()
	}
}

// hand goes along the queue, first from its own node, then from each abandoned
// one that it takes out. Whoever swapped the tail links without waiting for
// anybody, so that the link comes.
//
//go:noinline
func (h *abortHandle) hand() {
	var forever limit
	for n := h.node; ; {
		for turn := 1; atomic.LoadUint32(&n.next) == 0; turn++ {
			forever.spin(turn)
		}
		id := n.next // plain: only its successor writes it, once, and that has been observed
		n.next = 0
		if n != h.node {
			atomic.StoreUint32(&n.status, nodeFree)
		}
		n = &h.l.nodes[id]
		if n.grant() {
			return
		}
		if atomic.LoadUint32(&n.next) == 0 && atomic.CompareAndSwapUint32(&h.l.tail, id, 0) {
			atomic.StoreUint32(&n.status, nodeFree)
			return
		}
	}
}

// grant gives the lock to the node's worker, or, if that has given up, claims
// the node for taking it out and returns false.
func (n *abortNode) grant() bool {
	for {
		if atomic.CompareAndSwapUint32(&n.status, nodeWaiting, nodeFree) {
			return true
		}
		if atomic.CompareAndSwapUint32(&n.status, nodeAbandoned, nodeRemoved) {
			return false
		}
	}
}
