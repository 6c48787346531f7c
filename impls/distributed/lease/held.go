package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/lock"
)

// held is a lease as the caller sees it.
type held struct {
	grant         *Grant
	keeper        *Keeper // nil: the grant cannot be lost without the driver telling
	kept          Keeper  // the keeper, if it is this lease's alone
	c             *Client
	releaseWithin time.Duration
	released      atomic.Bool

	again *owned // of an owner; nil: not reentrant
	id    ownedKey
}

var (
	_ lock.Lease   = (*held)(nil)
	_ lock.Guarded = guarded{}
)

// guarded is a held lease of a driver with a protected write.
type guarded struct{ *held }

// Apply implements lock.Guarded.
func (g guarded) Apply(ctx context.Context, delta int64) error {
	if g.released.Load() {
		return fmt.Errorf("write under %s: %w", g.grant.Key, lock.ErrNotHeld)
	}
	if !g.c.begin() {
		return fmt.Errorf("write under %s: %w: %w", g.grant.Key, lock.ErrNotHeld, ErrClosed)
	}
	defer g.c.running.Done()
	return g.c.applier.Apply(ctx, g.grant, delta)
}

// lease returns the lease with what the driver can do.
func (h *held) lease() lock.Lease {
	if h.c.applier != nil {
		return guarded{h}
	}
	return h
}

// never is the Lost channel of a lease that is not lost.
var never = make(chan struct{})

// Lost implements lock.Lease.
func (h *held) Lost() <-chan struct{} {
	if h.keeper == nil {
		return never
	}
	return h.keeper.Lost()
}

// ValidUntil implements lock.Lease.
func (h *held) ValidUntil() (time.Time, bool) {
	if h.keeper == nil {
		return time.Time{}, false
	}
	return h.keeper.ValidUntil()
}

// Token implements lock.Lease.
func (h *held) Token() (uint64, bool) { return h.grant.Token, h.grant.HasToken }

func (h *held) lost() bool { return h.keeper != nil && h.keeper.lost() }

// Release implements lock.Lease. A lease that is lost by its own deadline is
// released at the service all the same, which may still keep it.
func (h *held) Release(ctx context.Context) error {
	if h.released.Swap(true) {
		return fmt.Errorf("release %s: %w: it was released before", h.grant.Key, lock.ErrNotHeld)
	}
	h, last := h.leave()
	lost := h.lost()
	if !last {
		if lost {
			return fmt.Errorf("release %s: %w", h.grant.Key, lock.ErrNotHeld)
		}
		return nil
	}
	if h.keeper == &h.kept {
		// A renewal under way may still reach the service after the release; there it
		// is refused, because the grant is gone.
		h.keeper.Stop()
	}
	err := h.c.release(ctx, h)
	lost = lost || errors.Is(err, lock.ErrNotHeld)
	if lost && h.c.meter != nil {
		h.c.meter.Lost.Add(1)
	}
	switch {
	case errors.Is(err, lock.ErrNotHeld):
		return fmt.Errorf("release %s: %w", h.grant.Key, err)
	case lost: // whatever the service said: the work was not protected to its end
		return fmt.Errorf("release %s: %w: its deadline or session had ended", h.grant.Key, lock.ErrNotHeld)
	case err != nil:
		return fmt.Errorf("release %s: %w", h.grant.Key, err)
	}
	return nil
}

// leave takes one from the owner's count; last: nobody holds it any more. It
// returns the lease that was acquired first, which has the keeper.
func (h *held) leave() (first *held, last bool) {
	if h.again == nil {
		return h, true
	}
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	h.again.count--
	if h.again.count > 0 {
		return h, false
	}
	if c.owners[h.id] == h.again {
		delete(c.owners, h.id)
	}
	return h.again.lease, true
}

// release asks the driver on a goroutine of its own: see acquire. When the caller
// leaves, the request goes on.
func (c *Client) release(ctx context.Context, h *held) error {
	if !c.begin() {
		return fmt.Errorf("%w: %w", lock.ErrUnknown, ErrClosed)
	}
	if c.inline {
		defer c.running.Done()
		err := c.d.Release(ctx, h.grant)
		if errors.Is(err, lock.ErrUnknown) {
			err = because(ctx, err)
		}
		return err
	}
	reply := make(chan error, 1)
	c.spawn(func() {
		defer c.running.Done()
		dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.releaseWithin)
		defer cancel()
		reply <- c.d.Release(dctx, h.grant)
	})
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", lock.ErrUnknown, ctx.Err())
	}
}
