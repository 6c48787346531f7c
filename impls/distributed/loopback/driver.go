package loopback

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// driver is a client process's access to the server. The fields say what kind of
// lock it makes.
type driver struct {
	target  lock.Target
	session bool // grants live as long as the connection, and have no TTL
	naive   bool // a release deletes whatever is there

	mu     sync.Mutex // held while dialling, too
	cur    *conn
	closed bool
}

var (
	_ lease.Driver  = (*driver)(nil)
	_ lease.Renewer = (*driver)(nil)
)

// patience is how long a waiter, or a session's request, goes without hearing from
// the server before it asks again: a lost message must not cost it its turn.
const patience = time.Second

// conn returns a connection, a new one if the last has ended.
func (d *driver) conn(ctx context.Context) (*conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, lease.ErrClosed
	}
	if d.cur == nil || d.cur.ended() {
		c, err := dial(ctx, d.target)
		if err != nil {
			return nil, err
		}
		d.cur = c
	}
	return d.cur, nil
}

// Close implements lease.Driver. The server is told, so that sessions end at once.
func (d *driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.cur != nil && !d.cur.ended() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		// Without an answer the session ends with the connection.
		_, _ = d.cur.call(ctx, request{Op: opBye})
		d.cur.close()
	}
	return nil
}

// held is a grant's Data.
type held struct {
	c     *conn // of a session
	owner uint64
}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	lock.TraceOf(ctx).Attempt()
	c, err := d.conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	r := request{Op: opAcquire, Key: d.target.Prefix + key, Owner: 1 + rand.Uint64N(1<<62), TTL: o.TTL, Try: o.Try}
	if d.session {
		r.TTL = 0
	}
	g, err := c.acquire(ctx, r)
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return nil, err
	case err != nil:
		return nil, d.undo(c, r, err)
	}
	g.Key, g.Data = key, held{c, r.Owner}
	if g.HasToken = o.Fence; !o.Fence {
		g.Token = 0
	}
	if d.session {
		g.Session = c.session
	}
	return g, nil
}

// acquire asks until the lock is granted. The place in the queue is the owner's:
// asking again does not lose it.
func (c *conn) acquire(ctx context.Context, r request) (*lease.Grant, error) {
	turn, forget := c.expect(r.Owner)
	defer forget()
	for {
		lock.TraceOf(ctx).Trip()
		g := &lease.Grant{Sent: time.Now(), TTL: r.TTL}
		asking, cancel := context.WithTimeout(ctx, patience)
		a, err := c.call(asking, r)
		cancel()
		switch {
		case err == nil && a.State == stGranted:
			g.Token = a.Token
			return g, nil
		case err == nil && a.State == stTaken:
			return nil, fmt.Errorf("%w: somebody else has it", lock.ErrNotAcquired)
		case err != nil && (ctx.Err() != nil || r.Try || !errors.Is(err, context.DeadlineExceeded)):
			return nil, err
		}
		quiet := time.NewTimer(patience)
		select {
		case a := <-turn:
			quiet.Stop()
			if r.TTL == 0 {
				g.Token = a.Token
				return g, nil
			}
			// The TTL has begun at some time before: asking again begins it anew, and
			// the local deadline counts from there.
		case <-quiet.C:
		case <-ctx.Done():
			quiet.Stop()
			return nil, ctx.Err()
		case <-c.done:
			quiet.Stop()
			return nil, errGone
		}
	}
}

// undo takes an acquisition back whose outcome is unknown, and returns what
// Acquire returns. Without an answer to that, too, the TTL or the end of the
// session does the rest.
func (d *driver) undo(c *conn, r request, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), max(r.TTL, patience))
	defer cancel()
	err := error(nil)
	if c.ended() {
		if d.session { // it has ended with the connection
			return fmt.Errorf("%w: %w", lock.ErrUnknown, why)
		}
		if c, err = d.conn(ctx); err != nil {
			return fmt.Errorf("%w: %w", lock.ErrUnknown, why)
		}
	}
	if _, err = c.call(ctx, request{Op: opRelease, Key: r.Key, Owner: r.Owner}); err != nil {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, why)
	}
	return fmt.Errorf("%w: %w", lock.ErrNotAcquired, why)
}

// of returns the connection for a request about a grant.
func (d *driver) of(ctx context.Context, g *lease.Grant) (*conn, held, error) {
	h := g.Data.(held)
	if d.session {
		return h.c, h, nil
	}
	c, err := d.conn(ctx)
	return c, h, err
}

// ask sends a request about a grant.
func (d *driver) ask(ctx context.Context, g *lease.Grant, r request) error {
	c, h, err := d.of(ctx, g)
	if err != nil {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	lock.TraceOf(ctx).Trip()
	r.Key, r.Owner = d.target.Prefix+g.Key, h.owner
	a, err := c.call(ctx, r)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	case a.State == stNotHeld:
		return fmt.Errorf("%w: the server has given it to nobody or to another", lock.ErrNotHeld)
	}
	return nil
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	if d.naive {
		return d.ask(ctx, g, request{Op: opDelete})
	}
	return d.ask(ctx, g, request{Op: opRelease})
}

// Renew implements lease.Renewer.
func (d *driver) Renew(ctx context.Context, g *lease.Grant) (time.Duration, error) {
	return g.TTL, d.ask(ctx, g, request{Op: opExtend, TTL: g.TTL})
}

// guarded is the driver of a lock with a protected write.
type guarded struct{ *driver }

var _ lease.Applier = guarded{}

// Apply implements lease.Applier: the server writes only for the holder.
func (d guarded) Apply(ctx context.Context, g *lease.Grant, delta int64) error {
	return d.ask(ctx, g, request{Op: opApply, Delta: delta})
}
