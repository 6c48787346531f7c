package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockbench/lock"
)

// Client makes a lock.Leaser of a driver.
type Client struct {
	d     Driver
	meter *lock.Meter

	// What d is, too.
	inline  bool
	renewer Renewer // or nil
	applier Applier // or nil

	mu     sync.Mutex
	owners map[ownedKey]*owned
	closed bool
	// running counts the calls of the driver under way, also those whose callers
	// have left. Close waits for them, so that nothing is left on the server, and
	// none begins after that: a driver need not be ready for calls after its Close.
	running sync.WaitGroup
	quit    context.CancelFunc
	done    context.Context // ends when Close begins

	work chan func() // to goroutines that wait for some: see spawn

	ending   sync.Once
	closeErr error
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
	c := &Client{d: d, meter: m, owners: map[ownedKey]*owned{}, work: make(chan func())}
	_, c.inline = d.(Inline)
	c.renewer, _ = d.(Renewer)
	c.applier, _ = d.(Applier)
	c.done, c.quit = context.WithCancel(context.Background())
	return c
}

var _ lock.Leaser = (*Client)(nil)

// ErrClosed is wrapped by the errors of calls that begin after Close, or that
// Close ended.
var ErrClosed = errors.New("the client is closed")

// closeGrace bounds how long Close waits for what callers left behind.
const closeGrace = 3 * time.Second

// Close implements lock.Client. Acquisitions under way return, and what they
// still win is released. Leases that are held are not renewed any more, and lost at
// their deadlines. A second Close waits for the first.
func (c *Client) Close() error {
	c.ending.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Client) close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.quit()
	if q, ok := c.d.(Quitter); ok {
		q.Quit()
	}
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

// begin counts a call of the driver; false: the client is closed. Under the
// mutex, because a WaitGroup must not grow from zero while somebody waits.
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
		return h.lease(), nil
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
			if e.lease.lost() { // nothing to be reentered: ask anew
				delete(c.owners, id)
				c.mu.Unlock()
				continue
			}
			e.count++
			c.mu.Unlock()
			return (&held{grant: e.lease.grant, keeper: e.lease.keeper, c: c, again: e, id: id}).lease(), nil
		}
		c.mu.Unlock()
		if o.Try {
			return nil, fmt.Errorf("acquire %s: %w: another acquisition of its owner is under way", key, lock.ErrNotAcquired)
		}
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
	return h.lease(), nil
}
