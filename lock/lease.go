package lock

import (
	"context"
	"errors"
	"time"
)

// The contract of distributed locks. The engine of this version lists and
// validates such locks and skips their cells with a reason; the harness that
// runs them is a later part of the project and builds on these names.

// ErrNotAcquired is returned by Leaser.Acquire when the lock is surely not
// held by the caller.
var ErrNotAcquired = errors.New("lock not acquired")

// ErrUnknown is returned when a request got no answer: the lock is perhaps
// held (and being cleaned up), or was perhaps released.
var ErrUnknown = errors.New("outcome unknown")

// ErrNotHeld is returned by Lease.Release when the lease was lost before.
var ErrNotHeld = errors.New("lock not held")

// Target says where the servers of a distributed lock are.
type Target struct {
	Addrs  []string // host:port, one per server
	Prefix string   // every name that the lock creates begins with it
}

// WaitPolicy says how Acquire waits between two attempts.
type WaitPolicy struct {
	Min, Max time.Duration // bounds of the exponential back-off, 0 < Min <= Max
	Jitter   float64       // share of the delay that is random, 0 to 1
}

// AcquireOptions are the options of one acquisition.
type AcquireOptions struct {
	TTL   time.Duration // after which an unrenewed lease ends; > 0
	Renew bool          // keep the lease alive in the background
	Wait  WaitPolicy
	Fence bool   // ask for a fencing token
	Owner string // reentrancy is per owner, counted; empty: a new owner
}

// Leaser is one client process's access to a distributed lock.
type Leaser interface {
	// Acquire returns a lease on key, ErrNotAcquired or ErrUnknown (wrapped).
	// When ctx ends it returns at once; a grant that comes late is released.
	Acquire(ctx context.Context, key string, o AcquireOptions) (Lease, error)
	Close() error
}

// Lease is one grant. Its methods may be called from several goroutines.
type Lease interface {
	// Release returns nil, ErrNotHeld (lost before) or ErrUnknown. It never
	// touches a successor's lock.
	Release(ctx context.Context) error
	// Lost is closed when the client knows, or by its own deadline must
	// assume, that it no longer holds the lock.
	Lost() <-chan struct{}
	// ValidUntil is the local deadline, on the monotonic clock: the time at
	// which the last successful renewal was sent, plus the TTL.
	ValidUntil() (deadline time.Time, ok bool)
	// Token is the fencing token, strictly increasing per key.
	Token() (token uint64, ok bool)
}

// Guarded is a lease with a write that is atomic with the proof of holding.
type Guarded interface {
	Apply(ctx context.Context, delta int64) error
}

// Optimistic updates without a lock; it is not a Leaser.
type Optimistic interface {
	// Update applies fn to the value of key and reports the attempts made.
	Update(ctx context.Context, key string, fn func(int64) int64) (attempts int, err error)
}
