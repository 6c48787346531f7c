package goredis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

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

// Call is the context of one acquisition, and what the hook sees of it.
type Call struct {
	context.Context
	begun    time.Time
	sent     atomic.Int64 // when the last attempt was sent, in ns after begun
	settled  atomic.Int64
	idle     atomic.Bool
	silenced atomic.Bool
}

type callKey struct{}

// Value implements context.Context.
func (c *Call) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// Begin returns a context by which the hook knows the commands of one acquisition.
func Begin(ctx context.Context) *Call { return &Call{Context: ctx, begun: time.Now()} }

// Sent returns when the last attempt was sent.
func (c *Call) Sent() time.Time { return c.begun.Add(time.Duration(c.sent.Load())) }

// Silenced reports whether a command that may have reached its server got no answer,
// even after the client's own repeats.
func (c *Call) Silenced() bool { return c.silenced.Load() }

// Idle reports whether all attempts so far have failed, and were undone: between two of
// them surely nothing is held.
func (c *Call) Idle() bool { return c.idle.Load() && !c.Silenced() }

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
		if c == nil {
			if h.node == 0 {
				lock.TraceOf(ctx).Trip()
			}
			return next(ctx, cmd)
		}
		select {
		case <-ctx.Done(): // the client looks at it first, and sends nothing
			return next(ctx, cmd)
		default:
		}
		if cmd.Name() == h.d.Attempt {
			c.idle.Store(false)
			if h.node == 0 {
				lock.TraceOf(ctx).Attempt()
				c.sent.Store(int64(time.Since(c.begun)))
			}
		}
		if h.node == 0 {
			lock.TraceOf(ctx).Trip()
		}
		err := next(ctx, cmd)
		switch {
		case silent(err):
			c.silenced.Store(true)
		case h.d.Failed(cmd, err) && c.settled.Add(1)%h.nodes == 0:
			c.idle.Store(true)
		}
		return err
	}
}

// silent reports whether a command that was perhaps sent got no answer. That of a context
// that ended meanwhile was perhaps sent: the client looks at it before it repeats a command, too.
func silent(err error) bool {
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	return !server.Refused(err) && !server.Unsent(err)
}

// ProcessPipelineHook implements redis.Hook. The libraries send no pipelines, the
// client does when it greets: on a context of its own, whoever waits for it.
func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}
