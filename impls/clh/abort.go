package clh

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
	// the waiter may be what keeps the holder from running. Go would preempt
	// it after 10 ms, longer than most time-outs: without the yield nearly
	// every timed acquisition would fail that just misses a time slice.
	yieldTurns = 1024
)

// The words of an abortNode; wordAbandoned+i is "abandoned, i is the node
// before".
const (
	wordReleased = iota
	wordHeld
	wordFree
	wordAbandoned
)

// abortLock is a CLH lock whose waiters can give up. A waiter that does so
// writes into its node where its predecessor is, and leaves the node in the
// queue. Its successor, who spins on that node, gives it back and waits on the
// one before. A worker that returns earlier takes up its old place.
//
// A node's word, W its worker, S the successor:
//
//	word           meaning                        who, when                        to
//	held           W is outside, waits or holds   W: unlocks, store                released
//	                                              W: gives up, store               abandoned(p)
//	released       S may take the lock            S: unlocks, its new own node     held
//	abandoned(p)   W is outside, its place is     W: returns, compare-and-swap     held
//	               kept; before it is node p      S: passes it, compare-and-swap   free
//	free           W's again, not in the queue    W: returns, store                held
//
// W and S contend for a node in one state, abandoned, and there both
// compare-and-swap: either W has its place again and S goes on waiting behind
// it, or the node is out of the queue, S has its predecessor, and W queues
// afresh. Nothing waits for anybody: giving up is one store, as in Scott's
// lock.
//
// # Nodes are conserved
//
// There are workers+1 nodes. Queued or not, each is the own node of one
// worker, but for one: the lock's, which is the released one in the queue or, while
// the lock is held, the holder's spare. Abandoning and passing change no
// owner. Unlock exchanges the own node for the spare, as in clh. At most one
// node a worker is abandoned, and a chain of them is at most as long as there
// are workers.
//
// # Why the word needs no version count
//
// S reads abandoned(p), is delayed, and compares and swaps: may the node have
// been resumed and abandoned again in between? Yes. If W passed its own
// predecessor meanwhile, it abandons with another p, and S's attempt fails. If
// the word is the same, so is its meaning: p has been W's predecessor all the
// time. For p to leave from before W and come there again it would have to be
// queued, and nodes are queued at the tail, behind W; and W's own node cannot
// leave the queue and be queued again, because only S, who is delayed, lets
// it. What is in the queue before a waiting S only becomes less.
//
// # Memory order
//
// As in clh, and: S's compare-and-swap observes W's store of abandoned(p), so
// that S may use p; W's atomic load observes S's write of free, so that W may
// write the node without further ado. Unlock ends as in clh and may use
// arch.StoreRelease32. The give-up is an atomic store; after it W reads
// nothing.
//
// # Order
//
// Waiters are granted in the order of their places, but a resumed place is
// older than the call that resumes it: FIFO is not claimed.
//
// # Sources
//
// M. L. Scott, "Non-Blocking Timeout in Scalable Queue-Based Spin Locks", PODC
// 2002: the abandoned node that names its predecessor, and the successor that
// takes it out. There nodes are allocated for each acquisition, by pointer;
// likewise TOLock in Herlihy and Shavit, "The Art of Multiprocessor
// Programming", section 7.6. Here a worker keeps its node, which works because
// it can resume: He, Scherer and Scott, "Preemption Adaptivity in
// Time-Published Queue-Based Spin Locks", HiPC 2005 (without their published
// time stamps).
//
// The tail has lock.CacheLine bytes of padding on both sides, and every node is
// that large.
type abortLock struct {
	_       [lock.CacheLine]byte
	tail    uint32 // index of the node last queued
	_       [lock.CacheLine]byte
	nodes   []abortNode // workers + 1
	handles []*abortHandle
}

// abortNode is lock.CacheLine long.
type abortNode struct {
	word uint32
	_    [lock.CacheLine - 4]byte
}

func newAbort(workers int) *abortLock {
	l := &abortLock{tail: uint32(workers), nodes: make([]abortNode, workers+1)}
	for i := range workers {
		l.nodes[i].word = wordHeld
	}
	return l
}

// NewHandle returns a worker's access to the lock.
func (l *abortLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &abortHandle{tail: &l.tail, nodes: l.nodes, own: uint32(w.ID)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters returns the number of workers that have a place and wait.
func (l *abortLock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// abortHandle knows the worker's nodes. The padding keeps other workers'
// handles off the line that every acquisition writes.
type abortHandle struct {
	tail  *uint32     // of the lock
	nodes []abortNode // of the lock
	own   uint32      // index of this worker's node
	pred  uint32      // index of the node before; this worker's spare once released
	waits uint32      // 1 while the worker has a place and waits
	left  bool        // the own node was abandoned and is perhaps still in the queue
	_     [lock.CacheLine]byte
}

var (
	_ lock.Handle        = (*abortHandle)(nil)
	_ lock.TimedLocker   = (*abortHandle)(nil)
	_ lock.ContextLocker = (*abortHandle)(nil)
	_ lock.Waiter        = (*abortLock)(nil)
)

// Lock joins the queue, or takes up the old place in it, and waits for the
// lock.
func (h *abortHandle) Lock() {
	if !h.join() {
		h.wait(limit{})
	}
}

// LockFor waits for about d. With d <= 0 it looks once: it passes abandoned
// nodes and gives up at the first that is held.
func (h *abortHandle) LockFor(d time.Duration) bool {
	switch {
	case h.join():
		return true
	case d <= 0:
		return h.wait(limit{once: true})
	default:
		return h.wait(limit{start: time.Now(), d: d})
	}
}

// LockContext waits until ctx ends.
func (h *abortHandle) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.join() || h.wait(limit{done: ctx.Done()}) {
		return nil
	}
	return ctx.Err()
}

// limit says how long to wait; the zero value, for ever.
type limit struct {
	once  bool // not at all
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
	switch {
	case l.once:
		return true
	case turn%yieldTurns == 0:
		runtime.Gosched()
	default:
		arch.Pause()
	}
	return turn%checkTurns == 0 && l.reached()
}

// join takes a place in the queue and reports whether it is the holder's.
func (h *abortHandle) join() bool {
	if h.left && h.resume() {
		return false
	}
	h.pred = atomic.SwapUint32(h.tail, h.own)
	return atomic.LoadUint32(&h.nodes[h.pred].word) == wordReleased
}

// resume takes up the place that was abandoned. If it returns false the node
// has been given back, and is ready to be queued.
func (h *abortHandle) resume() bool {
	h.left = false
	n := &h.nodes[h.own]
	if atomic.CompareAndSwapUint32(&n.word, wordAbandoned+h.pred, wordHeld) {
		return true
	}
	n.word = wordHeld
	return false
}

// wait waits for the lock. It returns false if the limit was reached first; the
// own node is then abandoned.
//
//go:noinline
func (h *abortHandle) wait(lim limit) bool {
	arch.StoreRelease32(&h.waits, 1)
	for turn := 1; ; {
		n := &h.nodes[h.pred]
		switch w := atomic.LoadUint32(&n.word); {
		case w == wordReleased:
			arch.StoreRelease32(&h.waits, 0)
			return true
		case w >= wordAbandoned:
			// If this fails its worker is back, and is waited for again.
			if atomic.CompareAndSwapUint32(&n.word, w, wordFree) {
				h.pred = w - wordAbandoned
			}
		case lim.spin(turn):
			arch.StoreRelease32(&h.waits, 0)
			h.left = true
			atomic.StoreUint32(&h.nodes[h.own].word, wordAbandoned+h.pred)
			return false
		default:
			turn++
		}
	}
}

// Unlock releases the own node and takes the spare for it.
func (h *abortHandle) Unlock() {
	arch.StoreRelease32(&h.nodes[h.own].word, wordReleased)
	h.own = h.pred
	h.nodes[h.own].word = wordHeld
}
