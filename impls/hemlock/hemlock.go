package hemlock

import (
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// hemlock is one word, the tail: the worker that came last. A waiter spins on
// its predecessor's lock.Worker.Grant, until that names this lock:
//
//	tail = 0    free
//	tail = i+1  held; worker i is the holder, or the last waiter
//
//	Grant of worker R  meaning                        who, when                   to
//	0                  R hands nothing over           R, Unlock with a successor  id of the lock
//	id of a lock       R's successor there holds it   that successor              0
//	                   and has not noticed yet
//
// Unlock with a successor therefore has two steps: R writes the lock's id, and
// waits until the successor W has set the word back. Without the
// acknowledgement R could come to unlock another lock, or this one again, and
// overwrite a grant that W has not read. While R is in Unlock it waits for W,
// a worker that is already waiting and only has to run: that is bounded where
// each worker has a processor, and with more workers than processors costs R a
// time slice now and then, the price of the missing node.
//
// Because Grant names the lock, a worker that holds several locks has one word
// for the waiters of all. They poll the same line, and only the one that
// is meant reacts.
//
// # Memory order
//
// Lock observes either the compare-and-swap of tail to 0 by the last Unlock,
// or its store of the lock's id to Grant; both are atomic, hence the Unlock is
// synchronized before the Lock (go.dev/ref/mem). The store of 0 is observed by
// R's wait and orders the next use of the word behind it. Grant is written by
// atomic.Store: after writing it, both R and W go on to read shared words,
// which rules out arch.StoreRelease32.
//
// # What differs from the paper
//
// Worker numbers replace pointers to threads' words (a pointer in tail would
// need Go's write barrier), lock ids replace lock addresses. The waiter polls
// with loads and not with compare-and-swap: the paper's "coherence traffic
// reduction" saves one transition of the line from shared to exclusive, at the
// price of traffic while waiting, and is an optimisation of its own.
//
// The tail has lock.CacheLine bytes of padding on both sides.
type hemlock struct {
	_       [lock.CacheLine]byte
	tail    uint32 // worker ID + 1 of the last one in the queue, 0 = free
	_       [lock.CacheLine]byte
	id      uint32         // what Grant names this lock by, not 0
	workers []*lock.Worker // by worker ID
	handles []*hemlockHandle
}

// lastID is the id of the hemlock made last in this process. After 2^32 locks
// ids repeat, which harms only if the two are used by the same worker at once.
var lastID atomic.Uint32

func newHemlock(workers int) *hemlock {
	id := lastID.Add(1)
	for id == 0 { // means "nothing granted"
		id = lastID.Add(1)
	}
	return &hemlock{id: id, workers: make([]*lock.Worker, workers)}
}

// NewHandle returns a worker's access to the lock. It uses w.Grant.
func (l *hemlock) NewHandle(w *lock.Worker) lock.Handle {
	l.workers[w.ID] = w
	h := &hemlockHandle{l: l, worker: w, id: uint32(w.ID + 1)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters returns the number of workers that have swapped the tail and have
// not seen their grant.
func (l *hemlock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// hemlockHandle has no queue node; what others read is in the lock.Worker. The
// padding keeps other workers' handles off the line that waiting writes.
type hemlockHandle struct {
	l      *hemlock
	worker *lock.Worker // this worker
	id     uint32       // worker.ID + 1
	waits  uint32       // 1 from the swap of tail to the grant, for Waiters only
	_      [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*hemlockHandle)(nil)
	_ lock.TryLocker = (*hemlockHandle)(nil)
	_ lock.Waiter    = (*hemlock)(nil)
)

// Lock joins the queue and waits for the lock.
func (h *hemlockHandle) Lock() {
	if pred := atomic.SwapUint32(&h.l.tail, h.id); pred != 0 {
		h.wait(pred)
	}
}

// wait waits for the predecessor's grant and acknowledges it.
//
//go:noinline
func (h *hemlockHandle) wait(pred uint32) {
	arch.StoreRelease32(&h.waits, 1)
	grant := &h.l.workers[pred-1].Grant
	for grant.Load() != h.l.id {
		arch.Pause()
	}
	arch.StoreRelease32(&h.waits, 0)
	grant.Store(0)
}

// TryLock acquires the lock if nobody holds it.
func (h *hemlockHandle) TryLock() bool { return atomic.CompareAndSwapUint32(&h.l.tail, 0, h.id) }

// Unlock hands the lock to the successor and waits until that knows, or leaves
// the lock free.
func (h *hemlockHandle) Unlock() {
	if !atomic.CompareAndSwapUint32(&h.l.tail, h.id, 0) {
		h.hand()
	}
}

//go:noinline
func (h *hemlockHandle) hand() {
	grant := &h.worker.Grant
	grant.Store(h.l.id)
	for grant.Load() != 0 {
		arch.Pause()
	}
}
