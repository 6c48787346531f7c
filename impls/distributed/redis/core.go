package redis

import (
	"context"
	"fmt"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// core is what the locks that tell holders apart have in common: a random token is
// the value of the lock's key, and only who knows it may delete the key or extend it.
type core struct {
	s      *server.Server
	prefix string
	tokens server.Tokens
	tasks  server.Tasks
	// free gives a lock back, and giveUp deletes what an attempt may have left. Both answer
	// 1 if the lock was the attempt's, else 0.
	free   func(ctx context.Context, a *attempt, sent time.Time) (int64, error)
	giveUp func(ctx context.Context, a *attempt) (int64, error)
}

// newCore dials. All that is released is released by the script.
func newCore(ctx context.Context, t lock.Target, del *server.Script, more ...*server.Script) (*core, error) {
	if len(t.Addrs) == 0 {
		return nil, &server.Error{Err: fmt.Errorf("redis: no address of a server"), Tip: "want redis://HOST:PORT"}
	}
	s, err := server.Open(ctx, t, t.Addrs[0], append(more, del, server.Extend)...)
	if err != nil {
		return nil, err
	}
	c := &core{s: s, prefix: t.Prefix}
	c.free = func(ctx context.Context, a *attempt, sent time.Time) (int64, error) {
		return s.Eval(ctx, sent, a.within, del, &a.name, &a.token)
	}
	c.giveUp = func(ctx context.Context, a *attempt) (int64, error) { return c.free(ctx, a, time.Now()) }
	return c, nil
}

// Inline implements lease.Inline.
func (*core) Inline() {}

// Release implements lease.Driver. A request without a reply is sent again until it is
// known that the key is gone, or cannot be there any more: in the background, if the caller
// leaves. Deleting twice does no harm, because the token is never used again.
func (c *core) Release(ctx context.Context, g *lease.Grant) error {
	a := of(g)
	until := time.Now().Add(max(g.TTL, time.Second))
	n, err := c.free(ctx, a, time.Now())
	switch {
	case err == nil && n > 0:
		return nil
	case err == nil:
		return lock.ErrNotHeld
	}
	return c.releaseAgain(ctx, a, until, err)
}

// releaseAgain goes on after a request that got an error for a reply.
func (c *core) releaseAgain(ctx context.Context, a *attempt, until time.Time, err error) error {
	perhaps := false // an earlier request may have been the one that deleted
	for {
		perhaps = perhaps || !server.Unsent(err) && !server.Refused(err)
		if ctx.Err() != nil || !server.Pause(ctx, a.within) {
			c.tasks.Go(func(ctx context.Context) {
				// At once: the request that was given up may not have arrived.
				if _, err := c.free(ctx, a, time.Now()); err != nil {
					_ = c.releaseAgain(ctx, a, until, err)
				}
			})
			return fmt.Errorf("%w: the caller left while the release had no reply: %w", lock.ErrUnknown, ctx.Err())
		}
		if time.Now().After(until) {
			return fmt.Errorf("%w: no reply to the release: %w", lock.ErrUnknown, err)
		}
		var n int64
		n, err = c.free(ctx, a, time.Now())
		switch {
		case err == nil && n > 0:
			return nil
		case err == nil && perhaps:
			return fmt.Errorf("%w: no reply to the release; the key is not ours now", lock.ErrUnknown)
		case err == nil:
			return lock.ErrNotHeld
		}
	}
}

// Renew implements lease.Renewer.
func (c *core) Renew(ctx context.Context, g *lease.Grant) (time.Duration, error) {
	a := of(g)
	n, err := c.s.Eval(ctx, time.Now(), a.within, server.Extend, &a.name, &a.token, &a.ms)
	if err != nil {
		return 0, fmt.Errorf("extend %s: %w", a.Key, err)
	}
	if n == 0 {
		return 0, lock.ErrNotHeld
	}
	return g.TTL, nil
}

// closeGrace bounds how long Close waits for the deletion of what may have been left.
const closeGrace = time.Second

// Close implements lease.Driver.
func (c *core) Close() error {
	c.tasks.Close(closeGrace)
	return c.s.Close()
}
