package redis

import (
	"context"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// polling is the lock that waits by asking again.
type polling struct{ *core }

var (
	_ lease.Inline  = polling{}
	_ lease.Renewer = polling{}
)

func dialPolling(ctx context.Context, t lock.Target) (lock.Client, error) {
	c, err := newCore(ctx, t, server.Release, fenced)
	if err != nil {
		return nil, err
	}
	return client{lease.New(polling{c}, t.Meter)}, nil
}

// Acquire implements lease.Driver.
func (p polling) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	a, err := p.newAttempt(key, o)
	if err != nil {
		return nil, err
	}
	return settled(lease.Poll(ctx, o, func(ctx context.Context) (*lease.Grant, error) { return p.set(ctx, a) }))
}

// client is a lock's client with what Redis can say of itself.
type client struct{ *lease.Client }

var (
	_ lock.Leaser = client{}
	_ lock.MinTTL = client{}
)

// MinTTL implements lock.MinTTL.
func (client) MinTTL(context.Context) (time.Duration, error) { return minTTL, nil }
