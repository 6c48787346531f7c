package redsync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	adapter "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/goredis"
	"lockbench/lock"
)

// drift is the library's default drift factor: Until is the start of the attempt + the
// TTL - this share of it.
const drift = 0.01

type driver struct {
	rs      *redsync.Redsync
	clients []*redis.Client
	prefix  string
}

var _ lease.Inline = (*driver)(nil)

// dialect: SET NX asks; the script that follows a failure deletes what of it was set.
var dialect = goredis.Dialect{
	Attempt: "set",
	Failed: func(cmd redis.Cmder, err error) bool {
		return err == nil && strings.HasPrefix(cmd.Name(), "eval")
	},
}

// Dial connects to the servers, of which a majority must answer.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	cs, err := goredis.Open(ctx, t, dialect)
	if err != nil {
		return nil, err
	}
	var ps []pools.Pool
	for _, c := range cs {
		ps = append(ps, adapter.NewPool(c))
	}
	return lease.New(&driver{rs: redsync.New(ps...), clients: cs, prefix: t.Prefix}, t.Meter), nil
}

// Inline implements lease.Inline: the library is called as its users call it.
func (*driver) Inline() {}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	call := goredis.Begin(ctx)
	m := d.rs.NewMutex(d.prefix+key, redsync.WithExpiry(o.TTL))
	try := m.LockContext
	if o.Try {
		try = m.TryLockContext
	}
	if err := try(call); err != nil {
		return nil, outcome(err, call)
	}
	valid := o.TTL - time.Duration(float64(o.TTL)*drift)
	return &lease.Grant{Key: key, Sent: m.Until().Add(-valid), TTL: valid, Data: m}, nil
}

// outcome says what an error of the library means. It has tried to delete what it had
// set, but does not say whether that worked.
func outcome(err error, call *goredis.Call) error {
	var taken *redsync.ErrTaken
	switch {
	case call.Silenced():
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	case errors.As(err, &taken), call.Idle():
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	// No quorum of answers, or one that came too late.
	return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	ok, err := g.Data.(*redsync.Mutex).UnlockContext(ctx)
	var taken *redsync.ErrTaken
	switch {
	case ok:
		return nil
	case errors.As(err, &taken), errors.Is(err, redsync.ErrLockAlreadyExpired):
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, err)
	}
	return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
}

// Close implements lease.Driver.
func (d *driver) Close() error { return goredis.Close(d.clients) }
