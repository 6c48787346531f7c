package backends

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"lockbench/lock"
)

// Names returns what locks have left under a prefix ("lockbench/<run id>/<cell>/"), each as a line to
// read, sorted. What stays on purpose is among them (counters, parents of queues), so a caller compares with an
// earlier listing. Nothing is changed.
//
//	Redis       key; of several servers: "host:port key"; behind sentinels: of the primary
//	etcd        key; and "lease <id>" of each lease that has keys there: one without keys tells nobody whose it is
//	ZooKeeper   path; "(ephemeral, session 0x...)"
//	PostgreSQL  advisory locks held or awaited, and open transactions: "<application name> <pid> ...".
//	            Both have an owner, but no name: see ofPrefix for whose count
//	loopback    key and who holds it or waits for it
func (c *Cluster) Names(ctx context.Context, prefix string) ([]string, error) {
	if !strings.HasPrefix(prefix, ours) {
		return nil, fmt.Errorf("list %q: only names under %q are this project's", prefix, ours)
	}
	names, err := c.top.srv.names(ctx, c.target, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	slices.Sort(names)
	return names, nil
}

// redisNames lists the keys of all servers, side by side.
func redisNames(ctx context.Context, t lock.Target, prefix string) ([]string, error) {
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	var out []string
	for _, addr := range t.Addrs {
		g.Go(func() error {
			return withRedis(ctx, t, addr, func(ctx context.Context, c *redis.Client) error {
				keys, err := redisKeys(ctx, c, prefix)
				if err != nil {
					return fmt.Errorf("%s: %w", addr, err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, k := range keys {
					if len(t.Addrs) > 1 {
						k = addr + " " + k
					}
					out = append(out, k)
				}
				return nil
			})
		})
	}
	return out, g.Wait()
}

// redisKeys returns all keys that begin with prefix. A key that comes or goes meanwhile is there or not; one
// that stays is there (documentation of SCAN).
func redisKeys(ctx context.Context, c *redis.Client, prefix string) ([]string, error) {
	seen := map[string]struct{}{} // SCAN may show a key twice
	var out []string
	for cursor := uint64(0); ; {
		keys, next, err := c.Scan(ctx, cursor, globs.Replace(prefix)+"*", scanCount).Result()
		if err != nil {
			return nil, fmt.Errorf("scan: %w", err)
		}
		for _, k := range keys {
			if _, again := seen[k]; !again {
				seen[k] = struct{}{}
				out = append(out, k)
			}
		}
		if cursor = next; cursor == 0 {
			return out, nil
		}
	}
}

// sentinelNames lists those of the primary, as the first sentinel that answers knows it.
func sentinelNames(ctx context.Context, t lock.Target, prefix string) ([]string, error) {
	d, err := primaryTarget(ctx, t)
	if err != nil {
		return nil, err
	}
	return redisNames(ctx, d, prefix)
}

func etcdNames(ctx context.Context, t lock.Target, prefix string) ([]string, error) {
	var out []string
	err := withEtcd(ctx, t, t.Addrs, func(ctx context.Context, c *clientv3.Client) error {
		// With the values, of some bytes: a request for keys alone is answered without their leases (3.7).
		r, err := c.Get(ctx, prefix, clientv3.WithPrefix())
		if err != nil {
			return fmt.Errorf("read the keys: %w", err)
		}
		leases := map[int64]struct{}{}
		for _, kv := range r.Kvs {
			out = append(out, string(kv.Key))
			if _, again := leases[kv.Lease]; kv.Lease != 0 && !again {
				leases[kv.Lease] = struct{}{}
				out = append(out, fmt.Sprintf("lease %x", kv.Lease))
			}
		}
		return nil
	})
	return out, err
}
