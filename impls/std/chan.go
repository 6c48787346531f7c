package std

import (
	"context"
	"time"

	"lockbench/lock"
)

// chanLock is a channel with one slot. A full slot is a held lock: sending
// acquires, receiving releases.
//
//	slot    senders queued    meaning
//	empty   0                 free
//	full    0                 held
//	full    k > 0             held, k goroutines wait in Lock, LockFor or LockContext
//	empty   k > 0             does not exist: the receiver that empties the slot
//	                          moves the first sender's value into it
//
// The last line is why this lock hands over and never loses a wake-up: the
// release and the grant to the next are one step under the channel's own
// mutex. It is also why it is slow under contention: the next holder has to
// be scheduled before anything else can happen.
//
// Sending to acquire, rather than keeping a token in the channel and
// receiving it, is the direction that the Go memory model speaks about: "the
// k-th receive on a channel with capacity C is synchronized before the
// completion of the (k+C)-th send". With C = 1: what holders did before their
// Unlock happens before the next Lock returns.
//
// The channel header stands in an object of its own that the runtime
// allocates; padding around the pointer keeps the pointer's line unwritten,
// the channel itself fills 96 bytes plus its (empty) slot and cannot be padded.
type chanLock struct {
	_    [lock.CacheLine]byte
	slot chan struct{}
	_    [lock.CacheLine]byte
}

// chanHandle has the worker's timer, made by the first LockFor that must wait
// and then used again: a timer per operation would allocate.
type chanHandle struct {
	l     *chanLock
	timer *time.Timer
}

var (
	_ lock.Handle        = (*chanHandle)(nil)
	_ lock.TryLocker     = (*chanHandle)(nil)
	_ lock.TimedLocker   = (*chanHandle)(nil)
	_ lock.ContextLocker = (*chanHandle)(nil)
)

func newChan(int) (lock.Lock, error) {
	return &chanLock{slot: make(chan struct{}, 1)}, nil
}

// NewHandle implements lock.Lock.
func (l *chanLock) NewHandle(*lock.Worker) lock.Handle { return &chanHandle{l: l} }

// Lock fills the slot.
func (h *chanHandle) Lock() { h.l.slot <- struct{}{} }

// Unlock empties the slot. It would block, not fail, if the lock were free.
func (h *chanHandle) Unlock() { <-h.l.slot }

// TryLock fills the slot if it is empty.
func (h *chanHandle) TryLock() bool {
	select {
	case h.l.slot <- struct{}{}:
		return true
	default:
		return false
	}
}

// LockFor tries without a timer first, so that a free lock costs no timer.
func (h *chanHandle) LockFor(d time.Duration) bool {
	if h.TryLock() {
		return true
	}
	if d <= 0 {
		return false
	}
	return h.lockForSlow(d)
}

// lockForSlow waits for the slot or the timer. Since Go 1.23 (go.mod says
// more) a timer's channel is unbuffered in effect: after Stop or Reset no
// stale expiry can be received, so the timer needs no draining in between.
// When both are ready select picks either; a timed-out sender is removed from
// the channel's queue by the runtime before select returns.
//
//go:noinline
func (h *chanHandle) lockForSlow(d time.Duration) bool {
	if h.timer == nil {
		h.timer = time.NewTimer(d)
	} else {
		h.timer.Reset(d)
	}
	select {
	case h.l.slot <- struct{}{}:
		h.timer.Stop()
		return true
	case <-h.timer.C:
		return false
	}
}

// LockContext checks the context first: select alone would choose at random
// between a free slot and an ended context.
func (h *chanHandle) LockContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case h.l.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
