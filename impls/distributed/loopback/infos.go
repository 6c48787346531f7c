package loopback

import (
	"context"
	"fmt"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// Family is that of the controls.
const Family = "control"

const source = "this project's own lock server, impls/distributed/loopback"

// Infos returns the controls.
func Infos() []lock.Info {
	remote := func(r lock.Remote) *lock.Remote {
		r.Services = []string{lock.ServiceLoopback}
		r.Waits = "woken by the server, in a queue"
		r.Reentrant = true
		return &r
	}
	return []lock.Info{
		{Name: "control-perfect", Family: Family, Kind: lock.KindLease, FIFO: true, Allocates: true, Source: source,
			Doc:    "control: never two holders; held until released, or until its holder's connection is gone",
			Remote: remote(lock.Remote{Fences: true, Linearizable: true}),
			Dial:   dialer(func(d *driver) lease.Driver { d.session = true; return guarded{d} })},
		{Name: "control-ttl", Family: Family, Kind: lock.KindLease, FIFO: true, Allocates: true, Source: source,
			Doc:    "control: a correct lease with a TTL",
			Remote: remote(lock.Remote{Expires: true, Renews: true, Fences: true, Linearizable: true}),
			Dial:   dialer(func(d *driver) lease.Driver { return d })},
		{Name: "control-naive", Family: Family, Kind: lock.KindLease, Allocates: true, Source: source,
			Doc:    "control: a lease whose release deletes whatever is there, also a successor's",
			Remote: remote(lock.Remote{Expires: true, Renews: true, Note: "wrong on purpose"}),
			Dial:   dialer(func(d *driver) lease.Driver { d.naive = true; return d })},
		nullInfo(),
	}
}

func dialer(make func(*driver) lease.Driver) func(context.Context, lock.Target) (lock.Client, error) {
	return func(ctx context.Context, t lock.Target) (lock.Client, error) {
		d := &driver{target: t}
		if _, err := d.conn(ctx); err != nil {
			return nil, err
		}
		return &client{lease.New(make(d), t.Meter), d}, nil
	}
}

// client is the lock.Leaser of the controls.
type client struct {
	*lease.Client
	d *driver
}

var (
	_ lock.Leaser = (*client)(nil)
	_ lock.Valuer = (*client)(nil)
)

func (c *client) value(ctx context.Context, key string) (answer, error) {
	cn, err := c.d.conn(ctx)
	if err == nil {
		var a answer
		if a, err = cn.call(ctx, request{Op: opValue, Key: c.d.target.Prefix + key}); err == nil {
			return a, nil
		}
	}
	return answer{}, fmt.Errorf("read the value of %s: %w", key, err)
}

// Value implements lock.Valuer.
func (c *client) Value(ctx context.Context, key string) (int64, error) {
	a, err := c.value(ctx, key)
	return a.Value, err
}

// Queued returns how many wait for the key, so that a test can stage arrivals.
func (c *client) Queued(ctx context.Context, key string) (int, error) {
	a, err := c.value(ctx, key)
	return a.Queue, err
}
