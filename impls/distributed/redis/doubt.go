package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// doubt settles a request that was sent at a time and got an error for a reply.
//
//	not sent, or refused by the server -> surely not held
//	no reply, and the key holds our token -> granted, from when the request was sent
//	no reply, and the key holds another token, or none, or cannot be read -> unknown
//
// The last is not "surely not": the request may still be on its way and be granted when it
// arrives. So the token is never used again and what it may leave is deleted, as long as it
// can be there.
func (c *core) doubt(ctx context.Context, a *attempt, sent time.Time, err error) (*lease.Grant, error) {
	if server.Unsent(err) {
		return nil, refused{err}
	}
	if server.Refused(err) {
		if a.fence != "" {
			c.forget(a, sure) // SET has been done, if it was INCR that failed
		}
		return nil, refused{err}
	}
	if ctx.Err() == nil { // else nobody waits for it
		if n, ours := c.readBack(ctx, a); ours && time.Since(sent) < time.Duration(a.ms)*time.Millisecond {
			return a.grant(sent, n), nil
		}
	}
	c.forget(a, unsure)
	return nil, fmt.Errorf("%w: no reply to the request for the lock: %w", lock.ErrUnknown, err)
}

// readBack asks whether the lock holds the attempt's token, and for the counter: while
// we hold the lock it is ours. MGET reads both in one step.
func (c *core) readBack(ctx context.Context, a *attempt) (counter int64, ours bool) {
	cmd := redis.NewSliceCmd(ctx, "mget", &a.name)
	if a.fence != "" {
		cmd = redis.NewSliceCmd(ctx, "mget", &a.name, &a.fence)
	}
	if err := c.s.Do(ctx, time.Now(), a.within, cmd); err != nil {
		return 0, false
	}
	got := cmd.Val()
	if len(got) == 0 || got[0] != a.token {
		return 0, false
	}
	if a.fence == "" {
		return 0, true
	}
	text, _ := got[1].(string)
	counter, err := strconv.ParseInt(text, 10, 64)
	return counter, err == nil
}

// Answers of the server that forget waits for.
const (
	sure   = 1 // all requests of the attempt have been answered
	unsure = 2 // one may be on its way yet, over a connection that was given up
)

// forget deletes in the background what an attempt may have left. It ends when the
// server has answered, or after the lease's time: what is left after that ends by itself.
func (c *core) forget(a *attempt, answers int) {
	c.tasks.Go(func(ctx context.Context) {
		ttl := max(time.Duration(a.ms)*time.Millisecond, time.Second)
		ctx, cancel := context.WithTimeout(ctx, ttl)
		defer cancel()
		for orphan := false; ; {
			n, err := c.giveUp(ctx, a)
			if err == nil {
				answers--
			}
			if err == nil && n > 0 && !orphan { // once, though two requests may be late
				orphan = true
				c.s.Meter.Orphan()
			}
			if answers == 0 || !server.Pause(ctx, a.within) {
				return
			}
		}
	})
}
