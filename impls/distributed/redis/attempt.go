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

// attempt is one acquisition, from its first request to its release. Commands take
// pointers to its fields, which costs less than boxing them.
type attempt struct {
	lease.Grant
	name   string // of the lock on the server
	fence  string // of its counter; empty without a fence
	token  string
	ms     int64 // the TTL as it is sent
	within time.Duration
	late   bool // a request had no reply, and another was sent: it may be on its way yet
}

// minTTL is the shortest expiry that Redis can set.
const minTTL = time.Millisecond

func (c *core) newAttempt(key string, o lock.AcquireOptions) (*attempt, error) {
	if o.TTL < minTTL {
		return nil, fmt.Errorf("%w: a TTL of %v: Redis counts milliseconds, 1ms is its least", lock.ErrNotAcquired, o.TTL)
	}
	a := &attempt{name: c.prefix + key, token: c.tokens.Next(), ms: o.TTL.Milliseconds(), within: server.Within(o.TTL)}
	if o.Fence {
		a.fence = fenceName(a.name)
	}
	a.Key, a.Data = key, a
	return a, nil
}

// fenceName names the counter of a lock. It outlives the lock.
func fenceName(name string) string { return name + ":fence" }

// of returns the attempt that a grant was made by.
func of(g *lease.Grant) *attempt { return g.Data.(*attempt) }

// grant makes a lease of the attempt. The deadline counts from when the request
// was sent: the server's clock has started later.
func (a *attempt) grant(sent time.Time, counter int64) *lease.Grant {
	a.Sent, a.TTL = sent, time.Duration(a.ms)*time.Millisecond
	if a.fence != "" {
		a.Token, a.HasToken = uint64(counter), true
	}
	return &a.Grant
}

// errTaken is the answer while somebody else has the lock.
var errTaken = fmt.Errorf("%w: somebody else has it", lock.ErrNotAcquired)

// refused is an attempt that surely got nothing, and would get nothing either if it
// were made again at once: there is no connection, or the server answers with an error.
// lease.Poll does not go on after it, because it does not wrap lock.ErrNotAcquired yet.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// settled gives the errors of an attempt the form that the contract wants.
func settled(g *lease.Grant, err error) (*lease.Grant, error) {
	if err == nil {
		return g, nil
	}
	var r refused
	if errors.As(err, &r) {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, r.error)
	}
	return nil, err
}

// set is one SET NX PX, or with a fence one script call.
func (c *core) set(ctx context.Context, a *attempt) (*lease.Grant, error) {
	sent := time.Now()
	if a.fence != "" {
		n, err := c.s.Eval(ctx, sent, a.within, fenced, &a.name, &a.fence, &a.token, &a.ms)
		switch {
		case err != nil:
			return c.doubt(ctx, a, sent, err)
		case n == 0:
			return nil, errTaken
		}
		return a.grant(sent, n), nil
	}
	err := c.s.Do(ctx, sent, a.within, redis.NewStatusCmd(ctx, "set", &a.name, &a.token, "nx", "px", &a.ms))
	switch {
	case err == nil:
		return a.grant(sent, 0), nil
	case errors.Is(err, redis.Nil):
		return nil, errTaken
	}
	return c.doubt(ctx, a, sent, err)
}
