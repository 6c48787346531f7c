package lease

import (
	"context"
	"time"

	"lockbench/lock"
)

// Grant is what a driver has won. The driver owns Data; the rest is read by
// this package.
type Grant struct {
	Key string
	// Sent is when the request that won was sent: the local deadline counts from
	// then, because the server's clock started later.
	Sent time.Time
	// TTL is what the service granted; 0: the grant ends with its session only, and
	// has no deadline of its own.
	TTL time.Duration
	// Token is the fencing token, if there is one.
	Token    uint64
	HasToken bool
	// Session keeps the grant alive, and others with it; nil: the grant is kept
	// alive by itself, with Renewer.
	Session *Keeper
	Data    any
}

// Driver talks to a service. Its methods may be called from several goroutines.
type Driver interface {
	// Acquire waits until the lock is granted, or makes one attempt with o.Try.
	// ctx ends when the caller has left (it has no deadline): Acquire then
	// stops waiting, undoes what it has done, and returns. It may also finish its
	// request and return a grant, which is then released as an orphan. Errors wrap
	// lock.ErrNotAcquired or lock.ErrUnknown. An error of ErrUnknown means that the driver
	// does what can be done to clean up.
	Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*Grant, error)
	// Release gives the lock back: nil, or an error that wraps lock.ErrNotHeld or
	// lock.ErrUnknown. It never touches a successor's lock.
	Release(ctx context.Context, g *Grant) error
	// Close ends connections and sessions.
	Close() error
}

// Inline is a Driver whose Acquire and Release are called on the caller's goroutine,
// with the caller's context: a round trip less of goroutines waking each other, which costs
// tens of microseconds a pair on a machine that also runs the server. It has
// more to see to by itself:
//
//   - Acquire and Release return at once when ctx ends, also while a reply is awaited
//     (an own lock; a library's adapter returns when the library does). What was under way is
//     cleaned up in the background: Acquire returns lock.ErrUnknown (lock.ErrNotAcquired if surely
//     nothing was won), and a grant that comes late is released and counted with Meter.Orphan.
//   - Release ends within max(TTL, 1 s) even if ctx does not.
//   - Close ends what is under way: the driver's Close may be called meanwhile, after a
//     grace. Rest returns when the client closes; who waits for a lock in another way is
//     a Quitter.
//
// A grant that Acquire returns although ctx has ended is given back by the kit, and counted
// as an orphan.
type Inline interface {
	Driver
	// Inline marks the driver; it is not called.
	Inline()
}

// Quitter is an Inline driver that is told when Close begins, before the grace.
type Quitter interface {
	// Quit makes each Acquire under way return, as if its context had ended, with ErrClosed
	// wrapped. It returns at once. Releases go on.
	Quit()
}

// Renewer is a Driver whose grants can be extended one by one.
type Renewer interface {
	// Renew extends the grant and returns the TTL that was granted.
	// lock.ErrNotHeld: it is lost for sure. Any other error is tried again.
	Renew(ctx context.Context, g *Grant) (time.Duration, error)
}

// Applier is a Driver with the protected write of lock.Guarded.
type Applier interface {
	Apply(ctx context.Context, g *Grant, delta int64) error
}
