package std

import (
	"context"
	"sync"
	"time"

	"lockbench/lock"
)

// condLock is a lock built as a monitor: a flag, a mutex that protects the
// flag for a few instructions, and a condition on which those wait who found
// the flag set.
//
//	held    on the condition    next
//	false   0                   Lock: held
//	true    k >= 0              Lock: k+1 wait; Unlock: held = false, one is signalled
//	false   k > 0, one of them  whoever gets the mutex first: a new arrival
//	        signalled           (barging), or the signalled waiter
//
// # No lost wake-up
//
// The rule that every path keeps: whoever was signalled either takes the
// lock or leaves it to a holder, whose Unlock signals again. A waiter
// therefore looks at the flag before it looks at its deadline. If the flag is
// clear it takes the lock, late or not; if it is set, a holder exists, and
// giving up then wastes no signal that anybody needs. So no case arises in
// which the lock is free, somebody waits, and no signalled waiter is on its way.
//
// Leaving late is the price: LockFor may return true a little after its
// deadline, which the contract ("about d") allows.
//
// # Deadlines
//
// sync.Cond cannot wait with a deadline. The timer of a waiter broadcasts
// instead, and each waiter checks its own clock: a Signal from the timer
// might wake someone else, who would sleep again while the one whose time is
// up sleeps on. A timer that fires late, even in the handle's next operation,
// is one needless broadcast and nothing worse. The plain path starts no
// goroutine and no timer.
//
// Memory order: held is only touched under the mutex.
type condLock struct {
	_    [lock.CacheLine]byte
	mu   sync.Mutex
	held bool
	free sync.Cond // "held is false"; its L is &mu
	_    [lock.CacheLine]byte
}

// condHandle has the worker's timer, made by the first LockFor that waits.
type condHandle struct {
	l     *condLock
	timer *time.Timer
}

var (
	_ lock.Handle        = (*condHandle)(nil)
	_ lock.TryLocker     = (*condHandle)(nil)
	_ lock.TimedLocker   = (*condHandle)(nil)
	_ lock.ContextLocker = (*condHandle)(nil)
)

func newCond(int) (lock.Lock, error) {
	l := &condLock{}
	l.free.L = &l.mu
	return l, nil
}

// NewHandle implements lock.Lock.
func (l *condLock) NewHandle(*lock.Worker) lock.Handle { return &condHandle{l: l} }

// Lock waits until the flag is clear and sets it.
func (h *condHandle) Lock() {
	l := h.l
	l.mu.Lock()
	for l.held {
		l.free.Wait()
	}
	l.held = true
	l.mu.Unlock()
}

// Unlock clears the flag and wakes one waiter, after the mutex is free so
// that the waiter does not run into it.
func (h *condHandle) Unlock() {
	l := h.l
	l.mu.Lock()
	l.held = false
	l.mu.Unlock()
	l.free.Signal()
}

// TryLock sets the flag if it is clear. It does wait for the mutex, which is
// only ever held for a few instructions; failing on it instead would be a
// failure while the lock is free.
func (h *condHandle) TryLock() bool {
	l := h.l
	l.mu.Lock()
	ok := !l.held
	l.held = true
	l.mu.Unlock()
	return ok
}

// LockFor tries without a timer first.
func (h *condHandle) LockFor(d time.Duration) bool {
	if h.TryLock() {
		return true
	}
	if d <= 0 {
		return false
	}
	return h.lockForSlow(d)
}

// lockForSlow reads the clock before it arms the timer, so that when the
// timer's broadcast comes the deadline has passed for sure.
//
//go:noinline
func (h *condHandle) lockForSlow(d time.Duration) bool {
	l := h.l
	deadline := time.Now().Add(d)
	if h.timer == nil {
		h.timer = time.AfterFunc(d, l.wakeAll)
	} else {
		h.timer.Reset(d)
	}
	defer h.timer.Stop()
	return l.lockUnless(func() bool { return !time.Now().Before(deadline) })
}

// LockContext gives up when the context has ended.
func (h *condHandle) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, h.l.wakeAll)
	defer stop()
	if h.l.lockUnless(func() bool { return ctx.Err() != nil }) {
		return nil
	}
	return ctx.Err()
}

// lockUnless is Lock with a way out that is looked at only while the lock is
// held by somebody: see "No lost wake-up".
func (l *condLock) lockUnless(over func() bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held {
		if over() {
			return false
		}
		l.free.Wait()
	}
	l.held = true
	return true
}

// wakeAll makes every waiter look at its deadline. It passes through the
// mutex: a waiter that has looked but is not yet on the condition would
// otherwise miss the only broadcast meant for it.
func (l *condLock) wakeAll() {
	l.mu.Lock()
	//lint:ignore SA2001 the empty critical section is the point
	l.mu.Unlock()
	l.free.Broadcast()
}
