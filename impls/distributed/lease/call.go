package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// States of a call, which is one request of a caller to the driver:
//
//	working --Poll rests--> resting --its delay is over--> working
//	working --driver returns--> done
//	working, resting --the caller's context ends, or Close--> left
//
// What comes after left is undone by the call's goroutine. The caller and that
// goroutine agree on who undoes by a compare-and-swap of the state.
const (
	working int32 = iota
	resting       // between two attempts: surely nothing is held
	left
	done
)

type call struct {
	state atomic.Int32
	quit  <-chan struct{} // of an inline call: closed when the client closes; else nil
}

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

// finish marks the call as done; false: the caller has left.
func (k *call) finish() bool {
	for {
		switch s := k.state.Load(); {
		case s == left:
			return false
		case k.state.CompareAndSwap(s, done):
			return true
		}
	}
}

// spawn runs f on another goroutine. Goroutines are kept and used again: the stack of a
// new one is grown, by copying it, some four times on the way into a client library, which
// costs as much as a tenth of a round trip on one machine.
func (c *Client) spawn(f func()) {
	select {
	case c.work <- f:
	default:
		go func() {
			f()
			t := time.NewTimer(spareFor)
			defer t.Stop()
			for {
				select {
				case f := <-c.work:
					f()
					t.Reset(spareFor)
				case <-t.C:
					return
				case <-c.done.Done():
					return
				}
			}
		}()
	}
}

// spareFor is how long a goroutine is kept without work.
const spareFor = time.Second

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
	if c.inline {
		defer c.running.Done()
		return c.acquireInline(ctx, key, o)
	}
	k := &call{}
	// Values pass on, the end does not: the driver learns of it by cancel.
	dctx, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), callKey{}, k))
	reply := make(chan granted, 1)
	c.spawn(func() {
		defer c.running.Done()
		defer cancel()
		g, err := c.d.Acquire(dctx, key, o)
		if err == nil && g.over() {
			err = c.refuse(ctx, g, o.TTL)
		}
		switch {
		case k.finish():
			reply <- granted{g, err}
		case err == nil:
			c.meter.Orphan()
			// An error changes nothing: the deadline of the service does the rest.
			_ = c.giveBack(ctx, g, o.TTL)
		}
	})
	var r granted
	var why error
	select {
	case r = <-reply:
	case <-ctx.Done():
		why = ctx.Err()
	case <-c.done.Done():
		why = ErrClosed
	}
	if why != nil {
		if was, ok := k.leave(); ok {
			cancel()
			sure := lock.ErrUnknown
			if was == resting {
				sure = lock.ErrNotAcquired
			}
			return nil, fmt.Errorf("acquire %s: %w: %w", key, sure, why)
		}
		r = <-reply // it came at the same time
	}
	if r.err != nil {
		return nil, fmt.Errorf("acquire %s: %w", key, r.err)
	}
	return c.hold(r.g, o), nil
}

// inlineCall is the context of an inline call, and the call.
type inlineCall struct {
	context.Context
	call
}

// Value implements context.Context.
func (c *inlineCall) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return &c.call
	}
	return c.Context.Value(key)
}

// acquireInline asks an Inline driver.
func (c *Client) acquireInline(ctx context.Context, key string, o lock.AcquireOptions) (*held, error) {
	k := &inlineCall{Context: ctx}
	k.quit = c.done.Done()
	g, err := c.d.Acquire(k, key, o)
	if err == nil && g.over() {
		err = c.refuse(ctx, g, o.TTL)
	}
	if err == nil {
		why := ctx.Err()
		if why == nil && c.done.Err() != nil {
			why = ErrClosed
		}
		if why == nil {
			return c.hold(g, o), nil
		}
		// It won although the caller has left (etcd-io/etcd#10111): given back in the
		// background, because he does not wait.
		c.meter.Orphan()
		c.running.Add(1) // not from zero: this call counts
		c.spawn(func() {
			defer c.running.Done()
			_ = c.giveBack(ctx, g, o.TTL) // the service's deadline does the rest
		})
		err = fmt.Errorf("%w: %w", lock.ErrUnknown, why)
	}
	return nil, fmt.Errorf("acquire %s: %w", key, because(ctx, err))
}

// because adds the end of the caller's context to what a library says of it.
func because(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if why := ctx.Err(); why != nil && !errors.Is(err, why) {
		return fmt.Errorf("%w: %w", err, why)
	}
	return err
}

// over reports whether the grant had ended before it was handed out: its reply
// was slower than its TTL, or its session is lost. A lock that does not look
// lets two in (etcd-io/etcd#11456).
func (g *Grant) over() bool {
	if g.Session != nil {
		return g.Session.lost()
	}
	return g.TTL > 0 && !time.Now().Before(g.Sent.Add(g.TTL))
}

// refuse gives back a grant that is over, and returns what Acquire returns.
func (c *Client) refuse(ctx context.Context, g *Grant, ttl time.Duration) error {
	const why = "the grant had ended when its reply came"
	if err := c.giveBack(ctx, g, ttl); err != nil && !errors.Is(err, lock.ErrNotHeld) {
		return fmt.Errorf("%w: %s, and it could not be given back: %w", lock.ErrUnknown, why, err)
	}
	return fmt.Errorf("%w: %s", lock.ErrNotAcquired, why)
}

// giveBack releases a grant that nobody has. It counts in no trace: nobody waits.
func (c *Client) giveBack(ctx context.Context, g *Grant, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lock.WithTrace(ctx, nil)), releaseWithin(ttl))
	defer cancel()
	return c.d.Release(ctx, g)
}

// releaseWithin bounds a release: the lease ends by itself after its TTL, so that
// trying longer is in vain.
func releaseWithin(ttl time.Duration) time.Duration { return max(ttl, time.Second) }

// hold starts the clock of a grant.
func (c *Client) hold(g *Grant, o lock.AcquireOptions) *held {
	h := &held{grant: g, keeper: g.Session, c: c, releaseWithin: releaseWithin(o.TTL)}
	if h.keeper == nil && g.TTL > 0 {
		h.keeper = &h.kept
		if c.renewer != nil && o.Renew {
			h.kept.keep(g.Sent, g.TTL, func(ctx context.Context) (time.Duration, error) { return c.renew(ctx, g) })
		} else {
			h.kept.keep(g.Sent, g.TTL, nil)
		}
	}
	return h
}

// renew sends one renewal, unless the client is closed: then the lease ends at
// its deadline.
func (c *Client) renew(ctx context.Context, g *Grant) (time.Duration, error) {
	if !c.begin() {
		return 0, ErrClosed
	}
	defer c.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.done, cancel)()
	ttl, err := c.renewer.Renew(ctx, g)
	if err == nil && c.meter != nil {
		c.meter.Renewals.Add(1)
	}
	return ttl, err
}
