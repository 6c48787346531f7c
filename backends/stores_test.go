package backends_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/lock"
)

// store writes and looks up names as locks do, to see what becomes of them.
type store struct {
	put func(name string) error
	has func(name string) (bool, error)
}

const storeTimeout = time.Minute // a guard against hanging, no expectation

// open returns the store of a target's first server.
func open(t testing.TB, target lock.Target) store {
	t.Helper()
	switch target.Service {
	case lock.ServiceRedis, lock.ServiceRedlock:
		return redisStore(t, target)
	case lock.ServiceEtcd:
		return etcdStore(t, target)
	case lock.ServiceZooKeeper:
		return zkStore(t, target)
	case lock.ServicePostgres:
		return pgStore(t, target)
	}
	t.Fatalf("no store for %s", target.Service)
	return store{}
}

func redisOf(t testing.TB, target lock.Target) *redis.Client {
	var c *redis.Client
	if target.Master != "" {
		c = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: target.Master, SentinelAddrs: target.Addrs,
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if to := target.Reach[addr]; to != "" {
					addr = to
				}
				var d net.Dialer
				return d.DialContext(ctx, network, addr)
			}})
	} else {
		c = redis.NewClient(&redis.Options{Addr: target.Addrs[0], Password: target.Password})
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func redisStore(t testing.TB, target lock.Target) store {
	c := redisOf(t, target)
	return store{
		func(name string) error { return c.Set(t.Context(), name, "x", 0).Err() },
		func(name string) (bool, error) {
			n, err := c.Exists(t.Context(), name).Result()
			return n == 1, err
		},
	}
}

func etcdStore(t testing.TB, target lock.Target) store {
	c, err := clientv3.New(clientv3.Config{Endpoints: target.Addrs, DialTimeout: storeTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return store{
		func(name string) error {
			_, err := c.Put(t.Context(), name, "x")
			return err
		},
		func(name string) (bool, error) {
			r, err := c.Get(t.Context(), name)
			if err != nil {
				return false, err
			}
			return r.Count == 1, nil
		},
	}
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

func zkStore(t testing.TB, target lock.Target) store {
	c, _, err := zk.Connect(target.Addrs, 10*time.Second, zk.WithLogger(noLog{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return store{
		func(name string) error {
			path := ""
			for _, part := range strings.Split(name, "/") {
				path += "/" + part
				if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
					return fmt.Errorf("create %s: %w", path, err)
				}
			}
			return nil
		},
		func(name string) (bool, error) {
			ok, _, err := c.Exists("/" + name)
			return ok, err
		},
	}
}

// pgStore keeps "lockbench/<run>/<rest>" as the locks do: a schema and a row.
func pgStore(t testing.TB, target lock.Target) store {
	dial := func() (*pgx.Conn, error) {
		return pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", target.User, target.Password, target.Addrs[0], target.Database))
	}
	split := func(name string) (table, key string) {
		parts := strings.SplitN(name, "/", 3)
		for len(parts) < 3 {
			parts = append(parts, "")
		}
		return pgx.Identifier{parts[0] + "/" + parts[1], "locks"}.Sanitize(), parts[2]
	}
	return store{
		func(name string) error {
			c, err := dial()
			if err != nil {
				return err
			}
			defer func() { _ = c.Close(t.Context()) }()
			table, key := split(name)
			schema, _, _ := strings.Cut(table, ".")
			for _, q := range []string{"CREATE SCHEMA IF NOT EXISTS " + schema, "CREATE TABLE IF NOT EXISTS " + table + " (key text PRIMARY KEY)"} {
				if _, err := c.Exec(t.Context(), q); err != nil {
					return err
				}
			}
			_, err = c.Exec(t.Context(), "INSERT INTO "+table+" VALUES ($1)", key)
			return err
		},
		func(name string) (bool, error) {
			c, err := dial()
			if err != nil {
				return false, err
			}
			defer func() { _ = c.Close(t.Context()) }()
			table, key := split(name)
			var found bool
			if err := c.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", table).Scan(&found); err != nil || !found {
				return false, err
			}
			err = c.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM "+table+" WHERE key = $1)", key).Scan(&found)
			return found, err
		},
	}
}

func (s store) mustPut(t testing.TB, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := s.put(n); err != nil {
			t.Fatalf("put %s: %v", n, err)
		}
	}
}

func (s store) mustHave(t testing.TB, want bool, names ...string) {
	t.Helper()
	for _, n := range names {
		got, err := s.has(n)
		if err != nil {
			t.Fatalf("look up %s: %v", n, err)
		}
		if got != want {
			t.Errorf("%s is there: got %v, want %v", n, got, want)
		}
	}
}

// eventually waits for something that has no event.
func eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	guard := time.NewTimer(storeTimeout)
	defer guard.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-guard.C:
			t.Fatalf("%s: not within %s: %v", what, storeTimeout, err)
		}
	}
}
