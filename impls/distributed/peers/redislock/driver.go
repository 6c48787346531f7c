package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/goredis"
	"lockbench/lock"
)

// backoff is how long the library's example waits between two attempts.
const backoff = 100 * time.Millisecond

type driver struct {
	l       *redislock.Client
	clients []*redis.Client
	prefix  string
}

var _ lease.Inline = (*driver)(nil)

// dialect: a script asks, which answers nil if somebody else holds the lock. (By its
// source, if the server does not know it: the same attempt once more.)
var dialect = goredis.Dialect{
	Attempt: "evalsha",
	Failed:  func(_ redis.Cmder, err error) bool { return errors.Is(err, redis.Nil) },
}

// Dial connects to the server.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	if t.Master == "" && len(t.Addrs) > 1 {
		return nil, fmt.Errorf("redislock works with one server, not %d", len(t.Addrs))
	}
	cs, err := goredis.Open(ctx, t, dialect)
	if err != nil {
		return nil, err
	}
	return lease.New(&driver{l: redislock.New(cs[0]), clients: cs, prefix: t.Prefix}, t.Meter), nil
}

// Inline implements lease.Inline: the library is called as its users call it.
func (*driver) Inline() {}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	call := goredis.Begin(ctx)
	retry := redislock.LinearBackoff(backoff)
	if o.Try {
		retry = redislock.NoRetry()
	}
	l, err := d.l.Obtain(call, d.prefix+key, o.TTL, &redislock.Options{RetryStrategy: retry})
	switch {
	case err == nil:
		return &lease.Grant{Key: key, Sent: call.Sent(), TTL: o.TTL, Data: l}, nil
	case call.Silenced():
		// The library does not clean up, and does not tell the token either.
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	// Somebody else has it until the wait ended, or no command was done.
	return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	switch err := g.Data.(*redislock.Lock).Release(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, redislock.ErrLockNotHeld):
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, err)
	default:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
}

// Close implements lease.Driver.
func (d *driver) Close() error { return goredis.Close(d.clients) }
