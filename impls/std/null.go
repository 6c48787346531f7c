package std

import (
	"context"
	"time"

	"lockbench/lock"
)

// The null lock measures the harness: a throughput of null is the ceiling
// that no lock can exceed in the same loop, and one that comes near it was
// not measured but the loop was. It is a Control, so nothing it does wrong is
// judged. Every optional acquisition is there, so that no workload skips it;
// Waiters is not, because the order oracle must not be fed a constant.
//
// At a direct call every method but one compiles to nothing. LockContext still
// asks the context, because callers use its error to leave their loop.

type nullLock struct{}

// nullHandle has no state. All pointers to it may be equal, which is harmless
// as nothing is stored behind them.
type nullHandle struct{}

var (
	_ lock.Handle        = (*nullHandle)(nil)
	_ lock.TryLocker     = (*nullHandle)(nil)
	_ lock.TimedLocker   = (*nullHandle)(nil)
	_ lock.ContextLocker = (*nullHandle)(nil)
	_ lock.RWHandle      = (*nullHandle)(nil)
	_ lock.TryRLocker    = (*nullHandle)(nil)
)

func newNull(int) (lock.Lock, error) { return &nullLock{}, nil }

// NewHandle implements lock.Lock.
func (l *nullLock) NewHandle(*lock.Worker) lock.Handle { return &nullHandle{} }

// Lock does nothing.
func (h *nullHandle) Lock() {}

// Unlock does nothing.
func (h *nullHandle) Unlock() {}

// TryLock always says yes.
func (h *nullHandle) TryLock() bool { return true }

// LockFor always says yes, at once.
func (h *nullHandle) LockFor(time.Duration) bool { return true }

// LockContext says yes unless the context has ended.
func (h *nullHandle) LockContext(ctx context.Context) error { return ctx.Err() }

// RLock does nothing.
func (h *nullHandle) RLock() {}

// RUnlock does nothing.
func (h *nullHandle) RUnlock() {}

// TryRLock always says yes.
func (h *nullHandle) TryRLock() bool { return true }
