package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// naive is the lock that many write first: every holder stores the same value, so
// that nobody knows whose lock it is, and a release deletes the key, whosever it is.
//
// A holder that was paused for longer than its lease deletes its successor's lock, and a
// third one gets in. It extends a successor's lease likewise. A request whose reply is
// lost leaves a key that nobody may delete: only its expiry does. So a request under way is
// not given up when its caller leaves, but waited for: Acquire and Release return a round trip late.
type naive struct {
	s      *server.Server
	prefix string
}

var (
	_ lease.Inline  = naive{}
	_ lease.Renewer = naive{}
)

// naiveValue is what every holder stores.
const naiveValue = "locked"

func dialNaive(ctx context.Context, t lock.Target) (lock.Client, error) {
	if len(t.Addrs) == 0 {
		return nil, &server.Error{Err: errors.New("redis: no address of a server"), Tip: "want redis://HOST:PORT"}
	}
	s, err := server.Open(ctx, t, t.Addrs[0])
	if err != nil {
		return nil, err
	}
	return client{lease.New(naive{s, t.Prefix}, t.Meter)}, nil
}

// Inline implements lease.Inline.
func (naive) Inline() {}

// Acquire implements lease.Driver.
func (v naive) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	ms := o.TTL.Milliseconds()
	if o.TTL < minTTL {
		return nil, fmt.Errorf("%w: a TTL of %v: Redis counts milliseconds, 1ms is its least", lock.ErrNotAcquired, o.TTL)
	}
	name := v.prefix + key
	return settled(lease.Poll(ctx, o, func(ctx context.Context) (*lease.Grant, error) {
		sent := time.Now()
		err := v.s.Do(context.WithoutCancel(ctx), sent, server.Within(o.TTL), redis.NewStatusCmd(ctx, "set", name, naiveValue, "nx", "px", ms))
		switch {
		case err == nil:
			return &lease.Grant{Key: key, Sent: sent, TTL: time.Duration(ms) * time.Millisecond, Data: name}, nil
		case errors.Is(err, redis.Nil):
			return nil, errTaken
		case server.Unsent(err), server.Refused(err):
			return nil, refused{err}
		}
		return nil, fmt.Errorf("%w: no reply to the request for the lock: %w", lock.ErrUnknown, err)
	}))
}

// Release implements lease.Driver. It breaks its promise: it deletes whatever is there.
func (v naive) Release(ctx context.Context, g *lease.Grant) error {
	cmd := redis.NewIntCmd(ctx, "del", g.Data)
	err := v.s.Do(context.WithoutCancel(ctx), time.Now(), server.Within(g.TTL), cmd)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	case cmd.Val() == 0:
		return lock.ErrNotHeld
	}
	return nil
}

// Renew implements lease.Renewer. It extends whatever is there.
func (v naive) Renew(ctx context.Context, g *lease.Grant) (time.Duration, error) {
	cmd := redis.NewIntCmd(ctx, "pexpire", g.Data, g.TTL.Milliseconds())
	if err := v.s.Do(ctx, time.Now(), server.Within(g.TTL), cmd); err != nil {
		return 0, fmt.Errorf("extend %s: %w", g.Key, err)
	}
	if cmd.Val() == 0 {
		return 0, lock.ErrNotHeld
	}
	return g.TTL, nil
}

// Close implements lease.Driver.
func (v naive) Close() error { return v.s.Close() }
