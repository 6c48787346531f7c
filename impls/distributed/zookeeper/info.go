package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// Infos returns the locks of this package.
func Infos() []lock.Info {
	return []lock.Info{{
		Name:      "zookeeper",
		Family:    "distributed/zookeeper",
		Doc:       "queue of ephemeral sequential nodes, each watching its predecessor",
		Source:    "ZooKeeper Recipes and Solutions, Locks; Hunt et al., ZooKeeper, USENIX ATC 2010, section 2.4",
		Kind:      lock.KindLease,
		FIFO:      true,
		Allocates: true,
		Dial:      Dial,
		Remote: &lock.Remote{
			Services:     []string{lock.ServiceZooKeeper},
			Expires:      true, // with its session, whose timeout it is
			Renews:       true,
			Fences:       true,
			AlwaysFences: true,
			Guards:       true,
			Linearizable: true,
			Reentrant:    true,
			Waits:        "watches its predecessor",
			Note:         pings,
		},
	}, {
		Name:      "zookeeper-plain",
		Family:    careless,
		Doc:       "the common mistake: zookeeper without a GUID in the nodes' names, so that it waits for its own node whose create was not answered",
		Source:    "ZooKeeper Recipes and Solutions, Locks, without what its section on recoverable errors and the GUID adds",
		Kind:      lock.KindLease,
		FIFO:      true,
		Allocates: true,
		Dial:      dialPlain,
		Remote: &lock.Remote{
			Services:     []string{lock.ServiceZooKeeper},
			Expires:      true,
			Renews:       true,
			Fences:       true,
			AlwaysFences: true,
			Reentrant:    true,
			Waits:        "watches its predecessor",
			Note:         "after a lost reply to a create it waits for itself, until its session ends; " + pings,
		},
	}}
}

const (
	// careless is the family of mistakes that people make, in locks that are otherwise well: matched by no
	// pattern (internal/engine).
	careless = "distributed/careless"
	pings    = "a session's client always pings: leases are renewed also without renewal"
)

// client is a Leaser with the extras of this service.
type client struct {
	*lease.Client
	d *driver
}

var (
	_ lock.Leaser   = (*client)(nil)
	_ lock.Preparer = (*client)(nil)
	_ lock.Valuer   = (*client)(nil)
	_ lock.MinTTL   = (*client)(nil)
)

// Dial opens a session with the ensemble at t.Addrs. It fails within t.DialTimeout, or
// when ctx ends.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	d, err := dialDriver(ctx, t)
	if err != nil {
		return nil, err
	}
	return &client{lease.New(d, t.Meter), d}, nil
}

func dialPlain(ctx context.Context, t lock.Target) (lock.Client, error) {
	d, err := dialDriver(ctx, t)
	if err != nil {
		return nil, err
	}
	return &client{lease.New(plain{d}, t.Meter), d}, nil
}

func dialDriver(ctx context.Context, t lock.Target) (*driver, error) {
	switch {
	case len(t.Addrs) == 0:
		return nil, errors.New("dial zookeeper: no address")
	case t.Prefix == "" || t.TTL <= 0 || t.DialTimeout <= 0:
		return nil, fmt.Errorf("dial zookeeper: prefix %q, TTL %s, dial timeout %s: want all of them", t.Prefix, t.TTL, t.DialTimeout)
	}
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, fmt.Errorf("dial zookeeper: %w", err)
	}
	d := newDriver(t, tc)
	if _, err := d.session(ctx); err != nil {
		return nil, fmt.Errorf("dial zookeeper: %w", err)
	}
	return d, nil
}

// Prepare implements lock.Preparer: it makes the keys' nodes.
func (c *client) Prepare(ctx context.Context, keys []string) error {
	for _, key := range keys {
		err := c.d.ask(ctx, func(s *session) error { return s.parents(c.d.dir(key)) })
		if err != nil {
			return fmt.Errorf("prepare key %s: %w", key, err)
		}
	}
	return nil
}

// Value implements lock.Valuer.
func (c *client) Value(ctx context.Context, key string) (int64, error) {
	var v int64
	err := c.d.ask(ctx, func(s *session) (err error) {
		v, err = s.value(c.d.dir(key))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the value of %s: %w", key, err)
	}
	return v, nil
}

// Queued returns how many wait for the key, so that a test can stage arrivals.
func (c *client) Queued(ctx context.Context, key string) (n int, err error) {
	err = c.d.ask(ctx, func(s *session) error {
		l, err := (&ticket{s: s, dir: c.d.dir(key)}).list()
		if err == nil {
			n = max(len(l.names)-1, 0) // one holds it
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count who waits for %s: %w", key, err)
	}
	return n, nil
}

// MinTTL implements lock.MinTTL: it opens a session with a timeout that is too short,
// which the server lengthens to the shortest that it grants, and ends it.
func (c *client) MinTTL(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, c.d.t.DialTimeout)
	defer cancel()
	var errs []error
	for _, addr := range c.d.t.Addrs {
		ttl, err := c.d.shortest(ctx, addr)
		if err == nil {
			return ttl, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("ask zookeeper for its shortest session timeout: %w", errors.Join(errs...))
}
