package redis

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// hang bounds what a test waits for: it says that something hangs, never how long it takes.
const hang = 30 * time.Second

// own are the locks that tell holders apart.
var own = []string{"redis", "redis-pubsub", "redis-fair"}

func info(t *testing.T, name string) lock.Info {
	t.Helper()
	i := slices.IndexFunc(Infos(), func(i lock.Info) bool { return i.Name == name })
	if i < 0 {
		t.Fatalf("no lock %s", name)
	}
	return Infos()[i]
}

// dialTo returns a client of the lock, closed when the test ends, and its meter.
func dialTo(t *testing.T, name string, target lock.Target) (lock.Leaser, *lock.Meter) {
	t.Helper()
	m := &lock.Meter{}
	target.Meter = m
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	c, err := info(t, name).Dial(ctx, target)
	if err != nil {
		t.Fatalf("dial %s: %v", name, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(lock.Leaser), m
}

// behind returns a target whose server is reached through a proxy.
func behind(t *testing.T, target lock.Target) (lock.Target, *tcpproxy.Proxy) {
	t.Helper()
	p := tcpproxy.New(t, target.Addrs[0])
	target.Addrs = []string{p.Addr()}
	return target, p
}

// raw returns a plain client of the server, for looking at keys.
func raw(t *testing.T, target lock.Target) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: target.Addrs[0], MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func opts(ttl time.Duration) lock.AcquireOptions {
	return lock.AcquireOptions{TTL: ttl, Wait: lock.WaitPolicy{Min: 5 * time.Millisecond, Max: 20 * time.Millisecond, Jitter: 0.5}}
}

// seldom are options whose polling alone would hang the test.
func seldom(ttl time.Duration) lock.AcquireOptions {
	o := opts(ttl)
	o.Wait = lock.WaitPolicy{Min: time.Hour, Max: time.Hour}
	return o
}

func acquire(t *testing.T, c lock.Leaser, key string, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	l, err := c.Acquire(ctx, key, o)
	if err != nil {
		t.Fatalf("acquire %s: %v", key, err)
	}
	return l
}

func giveBack(t *testing.T, l lock.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func target(t *testing.T) lock.Target { return backendtest.Target(t, "redis") }

func free(t *testing.T, r *redis.Client, name string) bool {
	t.Helper()
	n, err := r.Exists(context.Background(), name).Result()
	if err != nil {
		t.Fatalf("exists %s: %v", name, err)
	}
	return n == 0
}

// refusing returns an address where nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
