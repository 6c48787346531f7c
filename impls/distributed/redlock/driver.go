package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/redis/server"
	"lockbench/lock"
)

// driver is one client of all servers.
type driver struct {
	nodes  []*server.Server
	quorum int
	prefix string
	tokens server.Tokens
	tasks  server.Tasks
}

var (
	_ lease.Inline  = (*driver)(nil)
	_ lease.Renewer = (*driver)(nil)
)

const (
	// minNodes: with two, a quorum is both, and the lock is less available than on one.
	minNodes = 3
	// minTTL leaves most of the lease when the drift is taken off.
	minTTL = 10 * time.Millisecond
	// closeGrace bounds how long Close waits for what is still under way.
	closeGrace = time.Second
)

// drift is what is taken off a lease: see the package's comment.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// within is the time that one server is given: 5 % of the TTL, so that dead ones cost
// little of the lease. 25 ms at least, in which a busy machine answers; but no more than a
// quarter of a short lease.
func within(ttl time.Duration) time.Duration { return min(max(ttl/20, 25*time.Millisecond), ttl/4) }

// dial speaks to all servers at once, and needs a quorum of them.
func dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	addrs := slices.Compact(slices.Sorted(slices.Values(t.Addrs)))
	if len(addrs) < minNodes {
		return nil, &server.Error{
			Err: fmt.Errorf("redlock: %d independent servers; its quorum needs at least %d", len(addrs), minNodes),
			Tip: "name three or five servers, which must not be replicas of each other; for one server use the lock redis",
		}
	}
	d := &driver{quorum: len(addrs)/2 + 1, prefix: t.Prefix}
	for _, addr := range addrs {
		s, err := server.New(t, addr)
		if err != nil {
			_ = d.Close()
			return nil, err
		}
		d.nodes = append(d.nodes, s)
	}
	errs := make(chan error, len(addrs))
	for _, s := range d.nodes {
		go func() { errs <- s.Greet(ctx, t, server.Release, server.Extend) }()
	}
	failed, last := 0, error(nil)
	for range addrs {
		if err := <-errs; err != nil {
			failed, last = failed+1, err
		}
	}
	if len(addrs)-failed < d.quorum {
		_ = d.Close()
		return nil, fmt.Errorf("redlock: %d of %d servers answer, %d must: %w", len(addrs)-failed, len(addrs), d.quorum, last)
	}
	return client{lease.New(d, t.Meter)}, nil
}

// client is the lock's client with its least TTL.
type client struct{ *lease.Client }

var (
	_ lock.Leaser = client{}
	_ lock.MinTTL = client{}
)

// MinTTL implements lock.MinTTL.
func (client) MinTTL(context.Context) (time.Duration, error) { return minTTL, nil }

// Close implements lease.Driver.
func (d *driver) Close() error {
	d.tasks.Close(closeGrace)
	var errs []error
	for _, s := range d.nodes {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Inline implements lease.Inline: what asks the servers runs in the background, and the
// caller waits for its replies.
func (*driver) Inline() {}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	if o.TTL < minTTL {
		return nil, fmt.Errorf("%w: a TTL of %v: %v is the least of which the drift leaves enough", lock.ErrNotAcquired, o.TTL, minTTL)
	}
	g, err := lease.Poll(ctx, o, func(ctx context.Context) (*lease.Grant, error) { return d.try(ctx, key, o.TTL) })
	var u unreachable
	if errors.As(err, &u) {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, u.error)
	}
	return g, err
}

// errSplit is the answer when no quorum could be had because others have servers.
var errSplit = fmt.Errorf("%w: others have too many of the servers", lock.ErrNotAcquired)

// unreachable is an attempt that fails because too many servers do not answer: to
// try again at once is in vain. It does not wrap lock.ErrNotAcquired yet, so that lease.Poll ends.
type unreachable struct{ error }

func (u unreachable) Unwrap() error { return u.error }

// try is one attempt. It has a token of its own, because what the last one may have left is
// perhaps still being deleted.
func (d *driver) try(ctx context.Context, key string, ttl time.Duration) (*lease.Grant, error) {
	a := d.newAttempt(key, ttl)
	start := time.Now()
	lock.TraceOf(ctx).Trip()
	v := d.count(ctx, d.setAll(a, start), start.Add(a.within))
	if v.left {
		d.abandon(a)
		return nil, fmt.Errorf("%w: the caller left before a quorum had answered: %w", lock.ErrUnknown, ctx.Err())
	}
	// now < start + TTL - drift is checked last: nothing that takes time may follow.
	if v.yes >= d.quorum && time.Since(start) < ttl-drift(ttl) {
		a.Sent, a.TTL = start, ttl-drift(ttl)
		return &a.Grant, nil
	}
	left := d.undo(ctx, a)
	switch {
	case left >= d.quorum && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: the caller left while the attempt was undone: %w", lock.ErrUnknown, ctx.Err())
	case left >= d.quorum && v.err == nil: // all had granted it, too late, and then did not answer
		return nil, fmt.Errorf("%w: %d servers may hold the lock and cannot be asked", lock.ErrUnknown, left)
	case left >= d.quorum:
		return nil, fmt.Errorf("%w: %d servers may hold the lock and cannot be asked: %w", lock.ErrUnknown, left, v.err)
	case v.yes >= d.quorum:
		return nil, unreachable{fmt.Errorf("the servers took %v, longer than the lease", time.Since(start))}
	case v.failed > len(d.nodes)-d.quorum:
		return nil, unreachable{fmt.Errorf("%d of %d servers do not answer: %w", v.failed, len(d.nodes), v.err)}
	}
	return nil, errSplit
}

// undo deletes the attempt on all servers and waits until a quorum has answered; the
// others are seen to in the background. It returns how many servers may hold the lock yet.
func (d *driver) undo(ctx context.Context, a *attempt) int {
	lock.TraceOf(ctx).Trip()
	replies := d.delAll(a)
	t := time.NewTimer(2 * a.within) // once for the SET that is under way, once for the DEL
	defer t.Stop()
	answered := 0
	for range d.nodes {
		select {
		case r := <-replies:
			if r.err == nil || errors.Is(r.err, errGone) {
				answered++
			}
		case <-t.C:
			return len(d.nodes) - answered
		case <-ctx.Done():
			return len(d.nodes) - answered
		}
		if answered >= d.quorum {
			break
		}
	}
	return len(d.nodes) - answered
}

// abandon deletes an attempt whose caller has left, in the background. If it had got the
// lock, it was an orphan.
func (d *driver) abandon(a *attempt) {
	replies := d.delAll(a)
	d.tasks.Go(func(context.Context) {
		yes := 0
		for range d.nodes {
			if r := <-replies; r.err == nil && r.n > 0 {
				yes++
			}
		}
		if yes >= d.quorum {
			d.nodes[0].Meter.Orphan()
		}
	})
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	lock.TraceOf(ctx).Trip()
	replies := d.delAll(g.Data.(*attempt))
	yes, no := 0, 0
	var last error
	for range d.nodes {
		select {
		case r := <-replies:
			switch {
			case r.err != nil:
				last = r.err
			case r.n > 0:
				yes++
			default:
				no++
			}
		case <-ctx.Done():
			return fmt.Errorf("%w: %d of %d servers have released: %w", lock.ErrUnknown, yes, len(d.nodes), ctx.Err())
		}
		switch {
		case yes >= d.quorum:
			return nil
		case no > len(d.nodes)-d.quorum:
			return lock.ErrNotHeld // it was not held by a quorum any more
		}
	}
	if last == nil {
		return lock.ErrNotHeld
	}
	return fmt.Errorf("%w: %d of %d servers have released: %w", lock.ErrUnknown, yes, len(d.nodes), last)
}

// Renew implements lease.Renewer.
func (d *driver) Renew(ctx context.Context, g *lease.Grant) (time.Duration, error) {
	a := g.Data.(*attempt)
	start := time.Now()
	v := d.count(ctx, d.extendAll(a, start), start.Add(a.within))
	switch {
	case v.yes >= d.quorum && time.Since(start) < g.TTL:
		return g.TTL, nil
	case v.no > len(d.nodes)-d.quorum:
		return 0, lock.ErrNotHeld
	case v.left:
		return 0, fmt.Errorf("extend %s: %w", g.Key, ctx.Err())
	case v.err != nil:
		return 0, fmt.Errorf("extend %s: %d of %d servers have: %w", g.Key, v.yes, len(d.nodes), v.err)
	}
	return 0, fmt.Errorf("extend %s: %d of %d servers have", g.Key, v.yes, len(d.nodes))
}
