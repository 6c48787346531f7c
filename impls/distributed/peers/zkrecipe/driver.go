package zkrecipe

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

type driver struct {
	s      *session
	prefix string // of paths: a slash, and the target's
}

var _ lease.Driver = (*driver)(nil)

// Dial connects to the ensemble.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	s, err := connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return &client{lease.New(&driver{s: s, prefix: "/" + t.Prefix}, t.Meter), t}, nil
}

// Acquire implements lease.Driver. It returns when the library does.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	if o.Try {
		return nil, fmt.Errorf("%w: zk.Lock cannot try: %w", lock.ErrNotAcquired, errors.ErrUnsupported)
	}
	path := d.prefix + key
	trace := lock.TraceOf(ctx)
	trace.Attempt()
	done := d.s.trips.begin(path, trace, starting)
	l := zk.NewLock(d.s.conn, path, zk.WorldACL(zk.PermAll))
	err := l.Lock()
	done()
	if err != nil {
		// The library does not tell whether it has made its node.
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return &lease.Grant{Key: key, Session: d.s.now(), Data: l}, nil
}

// Release implements lease.Driver.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	done := d.s.trips.begin(d.prefix+g.Key, lock.TraceOf(ctx), deleting)
	defer done()
	switch err := g.Data.(*zk.Lock).Unlock(); {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, err)
	default:
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
}

// Close implements lease.Driver.
func (d *driver) Close() error {
	d.s.conn.Close() // waits a second for the server at most
	return nil
}
