package etcdconcurrency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"lockbench/impls/distributed/lease"
	"lockbench/impls/distributed/tlsfile"
	"lockbench/lock"
)

// client is a lease.Client that knows the shortest TTL.
type client struct {
	*lease.Client
	etcd *clientv3.Client
}

type driver struct {
	etcd   *clientv3.Client
	pool   *sessions
	prefix string
}

var _ lease.Inline = (*driver)(nil)

// Dial connects to the cluster and makes the first session.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	tc, err := tlsfile.Config(t.TLS, "")
	if err != nil {
		return nil, err
	}
	var ends []string
	for _, a := range t.Addrs {
		if to, ok := t.Reach[a]; ok {
			a = to
		}
		ends = append(ends, a)
	}
	ctx, cancel := context.WithTimeout(lock.WithTrace(ctx, nil), t.DialTimeout)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: ends, DialTimeout: t.DialTimeout, Username: t.User, Password: t.Password, TLS: tc,
		DialOptions: []grpc.DialOption{grpc.WithStatsHandler(counter{t.Meter})},
		Logger:      zap.NewNop(), // what it logs comes back as errors, too
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(ends, ", "), err)
	}
	c.Watcher = watcher{c.Watcher}
	d := &driver{etcd: c, pool: newSessions(c, t.TTL), prefix: t.Prefix}
	s, err := d.pool.take(ctx)
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect to etcd at %s: %w", strings.Join(ends, ", "), err)
	}
	d.pool.put(s)
	return &client{lease.New(d, t.Meter), c}, nil
}

// held is a grant's data.
type held struct {
	m *concurrency.Mutex
	s *session
}

// gone is what the library makes of a Mutex's key when it has deleted it.
const gone = "\x00"

// Inline implements lease.Inline: the library is called as its users call it.
func (*driver) Inline() {}

// Acquire implements lease.Driver.
func (d *driver) Acquire(ctx context.Context, key string, o lock.AcquireOptions) (*lease.Grant, error) {
	s, err := d.pool.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	}
	m := concurrency.NewMutex(s.Session, d.prefix+key)
	get := m.Lock
	if o.Try {
		get = m.TryLock
	}
	lock.TraceOf(ctx).Attempt()
	err = get(ctx)
	if err == nil {
		return &lease.Grant{
			Key: key, TTL: s.ttl, Session: s.keeper,
			Token: uint64(m.Header().Revision), HasToken: true,
			Data: &held{m, s},
		}, nil
	}
	switch {
	case errors.Is(err, concurrency.ErrSessionExpired), errors.Is(err, rpctypes.ErrLeaseNotFound):
		d.pool.drop(s)
	case m.Key() == gone:
		d.pool.put(s)
	default: // the key may be there: see the package's comment
		d.pool.drop(s)
		return nil, fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	return nil, fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
}

// Release implements lease.Driver. The library does not tell whether the key was
// still there; that the session is over is known from its keeper. The session would end with
// its TTL: no longer is the deletion waited for, which no timeout of the library bounds.
func (d *driver) Release(ctx context.Context, g *lease.Grant) error {
	h := g.Data.(*held)
	ctx, cancel := context.WithTimeout(ctx, max(h.s.ttl, time.Second))
	defer cancel()
	if err := h.m.Unlock(ctx); err != nil {
		d.pool.drop(h.s)
		return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
	}
	d.pool.put(h.s)
	return nil
}

// Close implements lease.Driver.
func (d *driver) Close() error {
	d.pool.close()
	if err := d.etcd.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the connection to etcd: %w", err)
	}
	return nil
}
