package etcd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// client is a lease.Client with the extras of etcd.
type client struct {
	*lease.Client
	d *driver
}

var (
	_ lock.Leaser = (*client)(nil)
	_ lock.Valuer = (*client)(nil)
	_ lock.MinTTL = (*client)(nil)
)

// Dial connects to the cluster, logs in, and makes the session of t.TTL.
func Dial(ctx context.Context, t lock.Target) (lock.Client, error) {
	d, err := newDriver(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("dial etcd: %w", err)
	}
	return &client{lease.New(d, t.Meter), d}, nil
}

// parseValue returns a protected value and its mod revision; both are 0 if it was never written.
func parseValue(kvs []*mvccpb.KeyValue) (value, mod int64, err error) {
	if len(kvs) == 0 {
		return 0, 0, nil
	}
	value, err = strconv.ParseInt(string(kvs[0].Value), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("read the value in %s: %w", kvs[0].Key, err)
	}
	return value, kvs[0].ModRevision, nil
}

// Value implements lock.Valuer.
func (c *client) Value(ctx context.Context, key string) (int64, error) {
	r, err := c.read(ctx, clientv3.OpGet(c.d.valueKey(key)))
	if err != nil {
		return 0, fmt.Errorf("read the value of %s: %w", key, err)
	}
	v, _, err := parseValue(r.Kvs)
	return v, err
}

// Queued returns how many wait for the key, so that a test can stage arrivals.
func (c *client) Queued(ctx context.Context, key string) (int, error) {
	r, err := c.read(ctx, clientv3.OpGet(c.d.queue(key), clientv3.WithPrefix(), clientv3.WithCountOnly()))
	if err != nil {
		return 0, fmt.Errorf("count who waits for %s: %w", key, err)
	}
	return int(max(r.Count-1, 0)), nil // one holds it
}

// readTries is how many servers in turn are asked.
const readTries = 6

// read sends one read, until somebody answers it.
func (c *client) read(ctx context.Context, op clientv3.Op) (*pb.RangeResponse, error) {
	var err error
	for range readTries {
		var r *clientv3.TxnResponse
		if r, err = c.d.txn(ctx, c.d.leader, c.d.dialTimeout/readTries, nil, []clientv3.Op{op}, nil); err == nil {
			return r.Responses[0].GetResponseRange(), nil
		}
		if refused(err) && !passing(err) || ctx.Err() != nil {
			break
		}
		c.d.pause(ctx, 50*time.Millisecond)
	}
	return nil, err
}

// MinTTL implements lock.MinTTL. It asks for a lease of one second and looks at what it
// gets: the server's minimum is 1.5 election timeouts, which it does not tell.
func (c *client) MinTTL(ctx context.Context) (time.Duration, error) {
	s, err := c.d.grant(ctx, 1, true)
	if err != nil {
		return 0, fmt.Errorf("ask for the shortest TTL: %w", err)
	}
	if err := c.d.revoke(ctx, c.d.leader, s.step, s.id); err != nil {
		return 0, fmt.Errorf("ask for the shortest TTL: revoke the lease: %w", err)
	}
	return s.ttl, nil
}
