package main

import (
	"fmt"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// The measured loops of the handle: without them the lock would be measured by
// two interface calls an operation, and its records would say so.
//go:generate go run lockbench/cmd/lockloop -type gtHandle

// info is the lock's catalogue line.
func info() lock.Info {
	return lock.Info{
		Name:   "graunke-thakkar",
		Family: "custom",
		Doc:    "array-based queue lock, spinning on the predecessor's toggle",
		Source: "G. Graunke and S. Thakkar, Synchronization Algorithms for Shared-Memory Multiprocessors, IEEE Computer 23(6), 1990",
		FIFO:   true,
		New: func(workers int) (lock.Lock, error) {
			if workers < 1 {
				return nil, fmt.Errorf("%d workers: want at least 1", workers)
			}
			return newGT(workers), nil
		},
	}
}

// gtLock is the queue lock of Graunke and Thakkar. Each worker has a toggle of
// its own, which it flips to release the lock. tail names the last worker that
// joined and the value that its toggle had then: whoever joins next takes that
// name out of tail, puts its own in, and waits until the named toggle has
// another value. A toggle here is 2*worker or 2*worker+1, so that name and
// value are one number.
//
//	tail  toggle of worker tail/2  meaning
//	t     t                        it holds the lock or waits, and is the last in line
//	t     t^1                      free
//
// A toggle cannot flip twice under a waiter's eyes: its worker would first
// have to join again, behind that waiter.
//
// # Memory order
//
// Unlock's store of the toggle is what the next holder's atomic load observes,
// so Unlock is synchronized before the Lock that it lets in (go.dev/ref/mem).
// It may be arch.StoreRelease32: the toggle is an integer, and Unlock reads no
// shared word afterwards. The same worker's next Lock begins with an atomic
// swap, which the store cannot pass.
//
// # No TryLock
//
// "The named toggle has flipped, so compare-and-swap tail" is wrong: between
// the look and the swap the named worker may have joined, released and joined
// once more. tail then reads t as before, but its worker holds the lock.
//
// # Layout
//
// tail and each toggle have lines of their own, lock.CacheLine bytes apart.
type gtLock struct {
	_       [lock.CacheLine]byte
	tail    uint32
	_       [lock.CacheLine]byte
	toggles []*uint32   // by name: 2w and 2w+1 are worker w's; read only
	handles []*gtHandle // complete before the first Lock, then read only
}

// newGT returns a free lock: worker 0 seems to have joined with 1, and its
// toggle is 0.
func newGT(workers int) *gtLock {
	type padded struct {
		v uint32
		_ [lock.CacheLine - 4]byte
	}
	l := &gtLock{tail: 1}
	own := make([]padded, workers+1) // the last one only keeps neighbours away
	for w := range workers {
		own[w].v = uint32(2 * w)
		l.toggles = append(l.toggles, &own[w].v, &own[w].v)
	}
	return l
}

// NewHandle implements lock.Lock.
func (l *gtLock) NewHandle(w *lock.Worker) lock.Handle {
	h := &gtHandle{tail: &l.tail, toggles: l.toggles, own: l.toggles[2*w.ID], name: uint32(2 * w.ID)}
	l.handles = append(l.handles, h)
	return h
}

// Waiters implements lock.Waiter, which every lock that claims FIFO has.
func (l *gtLock) Waiters() int {
	n := 0
	for _, h := range l.handles {
		n += int(atomic.LoadUint32(&h.waits))
	}
	return n
}

// gtHandle is one worker's access to the lock. The padding keeps other
// workers' handles off the line that every acquisition writes.
type gtHandle struct {
	tail    *uint32   // of the lock
	toggles []*uint32 // of the lock
	own     *uint32   // the worker's toggle
	name    uint32    // its value
	waits   uint32    // 1 from joining to the grant, on the slow path only
	_       [lock.CacheLine]byte
}

var (
	_ lock.Handle = (*gtHandle)(nil)
	_ lock.Waiter = (*gtLock)(nil)
)

// Lock joins the queue and waits for the predecessor's toggle to flip. It is
// small enough to be inlined into the measured loops; the slow path is not.
func (h *gtHandle) Lock() {
	if pred := atomic.SwapUint32(h.tail, h.name); atomic.LoadUint32(h.toggles[pred]) == pred {
		h.wait(pred)
	}
}

//go:noinline
func (h *gtHandle) wait(pred uint32) {
	toggle := h.toggles[pred]
	arch.StoreRelease32(&h.waits, 1) // for Waiters alone
	for atomic.LoadUint32(toggle) == pred {
		arch.Pause()
	}
	arch.StoreRelease32(&h.waits, 0)
}

// Unlock flips the worker's toggle.
func (h *gtHandle) Unlock() {
	h.name ^= 1
	arch.StoreRelease32(h.own, h.name)
}
