package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"lockbench/lock"
)

// guard bounds every wait of a test; what is waited for takes far less.
const guard = 60 * time.Second

// steady is a TTL for tests in which no session may be lost, however busy the machine is.
const steady = 12 * time.Second

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	t.Cleanup(cancel)
	return ctx
}

// connect dials a client that is closed when the test ends.
func connect(t testing.TB, tg lock.Target) *client {
	t.Helper()
	c, err := Dial(within(t), tg)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c.(*client)
}

// options are those of an acquisition that waits.
func options(tg lock.Target) lock.AcquireOptions {
	return lock.AcquireOptions{TTL: tg.TTL, Renew: true, Fence: true,
		Wait: lock.WaitPolicy{Min: time.Millisecond, Max: 10 * time.Millisecond}}
}

func acquire(t testing.TB, c *client, key string, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	l, err := c.Acquire(within(t), key, o)
	if err != nil {
		t.Fatalf("acquire %s: %v", key, err)
	}
	return l
}

func release(t testing.TB, l lock.Lease) {
	t.Helper()
	if err := l.Release(within(t)); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// result is what an Acquire in the background returned.
type result struct {
	l   lock.Lease
	err error
}

func start(ctx context.Context, c *client, key string, o lock.AcquireOptions) <-chan result {
	ch := make(chan result, 1)
	go func() {
		l, err := c.Acquire(ctx, key, o)
		ch <- result{l, err}
	}()
	return ch
}

func await[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(guard):
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}

// until polls what no event tells: the state of the server.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(guard); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// look is the etcd library's own client, for looking and for meddling.
type look struct {
	*clientv3.Client
	t  testing.TB
	tg lock.Target
}

func looking(t testing.TB, tg lock.Target) *look {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: tg.Addrs, DialTimeout: tg.DialTimeout, Logger: zap.NewNop()})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &look{c, t, tg}
}

// keys returns the names under the test's prefix, without it.
func (l *look) keys() []string {
	l.t.Helper()
	r, err := l.Get(within(l.t), l.tg.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		l.t.Fatalf("list: %v", err)
	}
	var out []string
	for _, kv := range r.Kvs {
		out = append(out, strings.TrimPrefix(string(kv.Key), l.tg.Prefix))
	}
	return out
}

// queue returns the members of a key's queue, in order.
func (l *look) queue(key string) []string {
	l.t.Helper()
	var out []string
	for _, k := range l.keys() {
		if strings.HasPrefix(k, key+"/") {
			out = append(out, k)
		}
	}
	return out
}

// queued waits until a queue has n members.
func (l *look) queued(key string, n int) {
	l.t.Helper()
	until(l.t, "the queue's length", func() bool { return len(l.queue(key)) == n })
}

// revokeSession ends the session that a client has now.
func (l *look) revokeSession(c *client) {
	l.t.Helper()
	if _, err := l.Revoke(within(l.t), clientv3.LeaseID(sessionOf(l.t, c).id)); err != nil {
		l.t.Fatalf("revoke: %v", err)
	}
}

func sessionOf(t testing.TB, c *client) *session {
	t.Helper()
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	for _, sl := range c.d.shared {
		return sl.s.Load()
	}
	t.Fatal("the client has no session")
	return nil
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func value(t testing.TB, c *client, key string) int64 {
	t.Helper()
	v, err := c.Value(within(t), key)
	if err != nil {
		t.Fatalf("value: %v", err)
	}
	return v
}
