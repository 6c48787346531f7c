package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// Client makes a lock.Leaser of a driver.
type Client struct {
	d     Driver
	meter *lock.Meter

	mu     sync.Mutex
	owners map[ownedKey]*owned
	closed bool
	// running are the goroutines that still talk to the service for callers that
	// have left; Close waits for them, so that nothing is left on the server.
	running sync.WaitGroup
	quit    context.CancelFunc
	done    context.Context
}

type ownedKey struct{ owner, key string }

// owned is the acquisition of a key by an owner: first under way, then held,
// then gone from the map.
type owned struct {
	settled chan struct{} // closed when it is held, or has failed
	lease   *held         // nil until then, and after a failure
	count   int
}

// New returns a Leaser over the driver, which it owns. A lock that offers extras
// (lock.Preparer, lock.Valuer, lock.MinTTL) embeds it.
func New(d Driver, m *lock.Meter) *Client {
	c := &Client{d: d, meter: m, owners: map[ownedKey]*owned{}}
	c.done, c.quit = context.WithCancel(context.Background())
	return c
}

var _ lock.Leaser = (*Client)(nil)

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("the client is closed")

// closeGrace bounds how long Close waits for what callers left behind.
const closeGrace = 3 * time.Second

// Close implements lock.Client. Acquisitions under way are told to give up.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.quit()
	idle := make(chan struct{})
	go func() { c.running.Wait(); close(idle) }()
	t := time.NewTimer(closeGrace)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	}
	return c.d.Close()
}

// begin counts a goroutine that talks to the service; false: the client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// Acquire implements lock.Leaser.
func (c *Client) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (lock.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %s: %w: %w", key, lock.ErrNotAcquired, err)
	}
	if o.Owner == "" {
		h, err := c.acquire(ctx, key, o)
		if err != nil {
			return nil, err
		}
		return h.as(c.d), nil
	}
	id := ownedKey{o.Owner, key}
	for {
		c.mu.Lock()
		e := c.owners[id]
		if e == nil {
			e = &owned{settled: make(chan struct{})}
			c.owners[id] = e
			c.mu.Unlock()
			return c.first(ctx, id, e, o)
		}
		if e.lease != nil {
			select {
			case <-e.lease.Lost(): // a lost lease is nothing to be reentered: ask anew
				delete(c.owners, id)
				c.mu.Unlock()
				continue
			default:
			}
			e.count++
			c.mu.Unlock()
			return (&held{grant: e.lease.grant, keeper: e.lease.keeper, c: c, again: e, id: id}).as(c.d), nil
		}
		c.mu.Unlock()
		select {
		case <-e.settled:
		case <-ctx.Done():
			return nil, fmt.Errorf("acquire %s: %w: %w", key, lock.ErrNotAcquired, ctx.Err())
		}
	}
}

// first is an owner's first acquisition of a key.
func (c *Client) first(ctx context.Context, id ownedKey, e *owned, o lock.AcquireOptions) (lock.Lease, error) {
	h, err := c.acquire(ctx, id.key, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(e.settled)
	if err != nil {
		delete(c.owners, id)
		return nil, err
	}
	h.again, h.id = e, id
	e.lease, e.count = h, 1
	return h.as(c.d), nil
}

// States of a call, which is one request of a caller to the driver:
//
//	working --Poll rests--> resting --its delay is over--> working
//	working --driver returns--> done
//	working, resting --the caller's context ends--> left
//
// What comes after left is undone by the call's goroutine.
const (
	working int32 = iota
	resting       // between two attempts: surely nothing is held
	left
	done
)

type call struct{ state atomic.Int32 }

// leave marks the call as left and returns what it was doing; ok is false if it
// is done.
func (k *call) leave() (was int32, ok bool) {
	for {
		switch s := k.state.Load(); {
		case s == done:
			return s, false
		case k.state.CompareAndSwap(s, left):
			return s, true
		}
	}
}

type callKey struct{}

type granted struct {
	g   *Grant
	err error
}

// acquire asks the driver on a goroutine of its own, because a client library
// may ignore the end of a context while it waits for a reply.
func (c *Client) acquire(ctx context.Context, key string, o lock.AcquireOptions) (*held, error) {
	if !c.begin() {
		return nil, fmt.Errorf("acquire %s: %w: %w", key, lock.ErrNotAcquired, ErrClosed)
	}
	k := &call{}
	// Values pass on, the end does not: the driver learns of it by cancel.
	dctx, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), callKey{}, k))
	stop := context.AfterFunc(c.done, cancel)
	reply := make(chan granted, 1)
	go func() {
		defer c.running.Done()
		defer stop()
		defer cancel()
		g, err := c.d.Acquire(dctx, key, o)
		for {
			s := k.state.Load()
			if s == left {
				if err == nil {
					c.orphan(ctx, g, o.TTL)
				}
				return
			}
			if k.state.CompareAndSwap(s, done) {
				reply <- granted{g, err}
				return
			}
		}
	}()
	var r granted
	select {
	case r = <-reply:
	case <-ctx.Done():
		if was, ok := k.leave(); ok {
			cancel()
			sure := lock.ErrUnknown
			if was == resting {
				sure = lock.ErrNotAcquired
			}
			return nil, fmt.Errorf("acquire %s: %w: %w", key, sure, ctx.Err())
		}
		r = <-reply
	}
	if r.err != nil {
		return nil, fmt.Errorf("acquire %s: %w", key, r.err)
	}
	return c.hold(r.g, o), nil
}

// orphan gives back a grant that nobody waits for any more.
func (c *Client) orphan(ctx context.Context, g *Grant, ttl time.Duration) {
	c.meter.Orphan()
	// The lease ends by itself after its TTL, so that trying longer is in vain.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lock.WithTrace(ctx, nil)), max(ttl, time.Second))
	defer cancel()
	// An error changes nothing: the deadline of the service does the rest.
	_ = c.d.Release(ctx, g)
}

// hold starts the clock of a grant.
func (c *Client) hold(g *Grant, o lock.AcquireOptions) *held {
	h := &held{grant: g, keeper: g.Session, c: c, releaseWithin: max(o.TTL, time.Second)}
	if h.keeper == nil && g.TTL > 0 {
		var renew func(context.Context) (time.Duration, error)
		if r, ok := c.d.(Renewer); ok && o.Renew {
			renew = func(ctx context.Context) (time.Duration, error) {
				ttl, err := r.Renew(ctx, g)
				if err == nil && c.meter != nil {
					c.meter.Renewals.Add(1)
				}
				return ttl, err
			}
		}
		h.keeper, h.own = Keep(g.Sent, g.TTL, renew), true
	}
	return h
}
