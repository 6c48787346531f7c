package goredis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/peers/wire"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// Dialect says what a library's commands mean.
type Dialect struct {
	// Attempt is the name of the command that asks for the lock, in lower case.
	Attempt string
	// Failed reports whether the command, with its answer, ends an attempt that has
	// surely failed: all that it has done is undone.
	Failed func(cmd redis.Cmder, err error) bool
}

// Call is what the hook sees of one acquisition.
type Call struct {
	sent     atomic.Int64 // when the last attempt was sent, in ns after begun
	settled  atomic.Int64
	silenced atomic.Bool
	begun    time.Time
}

type callKey struct{}

// Begin returns a context by which the hook knows the commands of one acquisition.
func Begin(ctx context.Context) (context.Context, *Call) {
	c := &Call{begun: time.Now()}
	return context.WithValue(ctx, callKey{}, c), c
}

// Sent returns when the last attempt was sent.
func (c *Call) Sent() time.Time { return c.begun.Add(time.Duration(c.sent.Load())) }

// Silenced reports whether a command that may have reached its server got no answer,
// even after the client's own repeats.
func (c *Call) Silenced() bool { return c.silenced.Load() }

// hook is that of one server of a client.
type hook struct {
	d     Dialect
	meter *lock.Meter
	node  int   // 0, 1, ...: rounds are noted at the first
	nodes int64 // servers in all
}

var _ redis.Hook = (*hook)(nil)

// DialHook implements redis.Hook.
func (h *hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wire.Redis(c, h.meter), nil
	}
}

// ProcessHook implements redis.Hook.
func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c, _ := ctx.Value(callKey{}).(*Call)
		if c != nil && cmd.Name() == h.d.Attempt {
			if !lease.Busy(ctx) {
				// The caller has been told that it surely does not hold the lock.
				cmd.SetErr(context.Canceled)
				return context.Canceled
			}
			if h.node == 0 {
				lock.TraceOf(ctx).Attempt()
				c.sent.Store(int64(time.Since(c.begun)))
			}
		}
		if h.node == 0 {
			lock.TraceOf(ctx).Trip()
		}
		err := next(ctx, cmd)
		if c == nil {
			return err
		}
		switch {
		case err != nil && !errors.Is(err, redis.Nil) && !server.Refused(err) && !server.Unsent(err):
			c.silenced.Store(true)
		case h.d.Failed(cmd, err) && c.settled.Add(1)%h.nodes == 0 && !c.Silenced():
			lease.Idle(ctx) // a caller that has left is seen at the next attempt
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook. The libraries send no pipelines, the
// client does when it greets: on a context of its own, whoever waits for it.
func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}
