package ticket

import (
	"math/bits"
	"sync/atomic"

	"lockbench/lock"
	"lockbench/lock/arch"
)

// parkLock is the ticket lock whose waiters block once they have spun
// spinTurns turns.
//
// Ticket t blocks in slots[t mod len(slots)]. There are at least as many slots
// as workers, hence as outstanding tickets, so that each slot has at most one
// waiter and a release wakes exactly the one whose turn it is, never all. The
// number of slots is a power of two and so divides 2^32: consecutive tickets
// use consecutive slots across the wrap of the counter too.
//
// One slot, W the waiter with ticket t, R the worker that releases t-1:
//
//	state   who, when                               to      and then
//	empty   W, has spun                             parked  reads serving
//	parked  W, saw serving = t: compare-and-swap    empty   returns
//	parked  R, after serving := t: compare-and-swap empty   sends one token
//
// If W's compare-and-swap fails, R has won and its token is on the way: W
// takes it before it returns, so that the channel is empty whenever the state
// is. Each parked -> empty by R is matched by one token and one receive: a send
// never blocks.
//
// No wake-up is lost. W stores parked and then loads serving; R stores serving
// and then loads the state (Dekker's pattern). All four are sync/atomic
// operations, which have one total order, so at least one of the two loads
// sees the other's store: either W does not block, or R sees parked. With
// arch.StoreRelease32 both loads could come first; it must not be used here.
//
// A wake-up can be stale. R may sleep between its store and its look at the
// slot until t is long released and the slot has another waiter W'. It then
// wakes W', which finds that it is not being served and parks again. The true
// release of W' finds it parked, or W' sees serving itself.
//
// The counters are on lines of their own, lock.CacheLine bytes apart.
type parkLock struct {
	_       [lock.CacheLine]byte
	last    uint32 // the last ticket drawn
	_       [lock.CacheLine]byte
	serving uint32 // the ticket that holds or may take the lock
	_       [lock.CacheLine]byte
	slots   []slot // a power of two, >= workers
	mask    uint32 // len(slots)-1
}

const (
	empty  = 0
	parked = 1
)

// slot is where one waiter blocks. It is padded to lock.CacheLine bytes. The
// allocator puts an 8-byte header before large arrays that hold pointers; the
// fields are at the beginning so that even then no two slots' share a line.
type slot struct {
	state atomic.Uint32
	token chan struct{} // room for one
	_     [lock.CacheLine - 16]byte
}

func newPark(workers int) *parkLock { return newParkAt(workers, 0) }

func newParkAt(workers int, start uint32) *parkLock {
	n := 1 << bits.Len(uint(workers-1))
	l := &parkLock{last: start - 1, serving: start, slots: make([]slot, n), mask: uint32(n - 1)}
	for i := range l.slots {
		l.slots[i].token = make(chan struct{}, 1)
	}
	return l
}

// NewHandle returns a worker's access to the lock.
func (l *parkLock) NewHandle(*lock.Worker) lock.Handle { return &parkHandle{l: l} }

// Waiters returns the number of tickets drawn and not yet served.
func (l *parkLock) Waiters() int { return waiting(&l.serving, &l.last) }

// parkHandle has no state of its own. The padding keeps off its line what the
// allocator puts next to it.
type parkHandle struct {
	l *parkLock
	_ [lock.CacheLine]byte
}

var (
	_ lock.Handle    = (*parkHandle)(nil)
	_ lock.TryLocker = (*parkHandle)(nil)
	_ lock.Waiter    = (*parkLock)(nil)
)

// Lock draws a ticket and waits until it is served.
func (h *parkHandle) Lock() {
	if t := atomic.AddUint32(&h.l.last, 1); atomic.LoadUint32(&h.l.serving) != t {
		h.wait(t)
	}
}

//go:noinline
func (h *parkHandle) wait(t uint32) {
	l := h.l
	for range spinTurns {
		arch.Pause()
		if atomic.LoadUint32(&l.serving) == t {
			return
		}
	}
	s := &l.slots[t&l.mask]
	for atomic.LoadUint32(&l.serving) != t {
		s.state.Store(parked)
		if atomic.LoadUint32(&l.serving) == t && s.state.CompareAndSwap(parked, empty) {
			return
		}
		<-s.token
	}
}

// TryLock acquires the lock if nobody holds it or waits for it.
func (h *parkHandle) TryLock() bool {
	s := atomic.LoadUint32(&h.l.serving)
	return atomic.CompareAndSwapUint32(&h.l.last, s-1, s)
}

// Unlock serves the next ticket and wakes its worker if that is parked.
func (h *parkHandle) Unlock() {
	l := h.l
	t := atomic.LoadUint32(&l.serving) + 1
	atomic.StoreUint32(&l.serving, t)
	s := &l.slots[t&l.mask]
	if s.state.Load() == parked && s.state.CompareAndSwap(parked, empty) {
		s.token <- struct{}{}
	}
}
