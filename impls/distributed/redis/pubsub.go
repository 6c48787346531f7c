package redis

import (
	"context"
	"errors"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// told is the lock whose waiters are told of the release.
//
// The critical path of a handoff is two round trips and a message: the release script
// publishes, the waiter's script takes the lock. A waiter subscribes once and stays
// subscribed while it waits; the channel stays so for the next one (see hub).
//
// No wake-up is lost, because a waiter looks at the lock after its subscription is
// confirmed, and after each message from then on. Where a message can be lost (the connection
// is cut; the holder dies and its key expires, of which nobody tells) a timer covers it:
// a waiter looks again when the lock would expire as it saw it last, or after its own
// TTL, if that is sooner.
type told struct {
	*core
	hub *hub
}

var (
	_ lease.Inline  = told{}
	_ lease.Renewer = told{}
)

func dialTold(ctx context.Context, t lock.Target) (lock.Client, error) {
	c, err := newCore(ctx, t, releaseTelling, fenced, fencedOrLeft)
	if err != nil {
		return nil, err
	}
	return client{lease.New(told{c, newHub(c.s, t.TTL)}, t.Meter)}, nil
}

// Close implements lease.Driver.
func (d told) Close() error {
	d.hub.close()
	return d.core.Close()
}

// Acquire implements lease.Driver.
func (d told) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	a, err := d.newAttempt(key, o)
	if err != nil {
		return nil, err
	}
	// The channel is live if somebody here has waited lately. Then this one will probably
	// wait, too, and what it asks first can be what a waiter asks.
	if o.Try || !d.hub.live(a.name) {
		lock.TraceOf(ctx).Attempt()
		g, err := d.set(ctx, a)
		if err == nil || o.Try || !errors.Is(err, lock.ErrNotAcquired) {
			return settled(g, err)
		}
	}
	w, err := d.hub.join(ctx, a.name, a.within)
	var g *lease.Grant
	if err == nil {
		g, err = d.wait(ctx, a, w, o)
	}
	d.hub.leave(w, err == nil)
	return settled(g, err)
}

// wait looks at the lock, sleeps until there is a reason to look again, and so on.
func (d told) wait(ctx context.Context, a *attempt, w *waiter, o lock.AcquireOptions) (*lease.Grant, error) {
	for n := 1; ; n++ {
		lock.TraceOf(ctx).Attempt()
		g, left, err := d.setOrLeft(ctx, a)
		if err == nil || !errors.Is(err, lock.ErrNotAcquired) {
			return g, err
		}
		pause := o.TTL
		if left > 0 {
			pause = min(pause, left)
		}
		if !d.hub.live(a.name) { // no message would come: poll
			pause = min(pause, lease.Delay(o.Wait, n))
		}
		if err := lease.Rest(ctx, pause, w.wake); err != nil {
			return nil, err
		}
	}
}

// setOrLeft is set that says, with errTaken, when the lock expires: from now on, 0 if
// that is unknown.
func (d told) setOrLeft(ctx context.Context, a *attempt) (g *lease.Grant, left time.Duration, err error) {
	fence, counter := "0", &a.name
	if a.fence != "" {
		fence, counter = "1", &a.fence
	}
	sent := time.Now()
	n, err := d.s.Eval(ctx, sent, a.within, fencedOrLeft, &a.name, counter, &a.token, &a.ms, fence)
	switch {
	case err != nil:
		g, err = d.doubt(ctx, a, sent, err)
		return g, 0, err
	case n > 0:
		return a.grant(sent, n), 0, nil
	case n == 0:
		return nil, 0, errTaken
	}
	// The server expires a key when its time is over, not when it has come: 1 ms more.
	return nil, time.Duration(-n) * time.Millisecond, errTaken
}
