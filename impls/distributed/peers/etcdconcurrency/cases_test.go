package etcdconcurrency_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/etcdconcurrency"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// bench is the library as such: a client, and what looks at the store beside it.
type bench struct {
	t      *testing.T
	c      *clientv3.Client
	direct *clientv3.Client
	prefix string
}

func connect(t *testing.T, addr string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (b *bench) session() *concurrency.Session {
	b.t.Helper()
	s, err := concurrency.NewSession(b.c, concurrency.WithTTL(60))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _, _ = b.direct.Revoke(context.Background(), s.Lease()) })
	return s
}

func (b *bench) keys() int64 {
	b.t.Helper()
	r, err := b.direct.Get(b.t.Context(), b.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		b.t.Fatal(err)
	}
	return r.Count
}

func (b *bench) await(n int64) {
	b.t.Helper()
	peertest.Await(b.t, "keys", func() bool { return b.keys() == n })
}

// waiter holds the lock with one session and waits for it with another, whose lease
// is then revoked.
func waiter(t *testing.T) (b *bench, holder *concurrency.Mutex, waits chan error) {
	target := backendtest.Target(t, "etcd-1")
	c := connect(t, target.Addrs[0])
	b = &bench{t, c, c, target.Prefix + "k/"}
	holder = concurrency.NewMutex(b.session(), target.Prefix+"k")
	if err := holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := b.session()
	waits = make(chan error, 1)
	go func() { waits <- concurrency.NewMutex(s, target.Prefix+"k").Lock(t.Context()) }()
	b.await(2)
	if _, err := b.direct.Revoke(t.Context(), s.Lease()); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	return b, holder, waits
}

// TestCase22 and 23 (etcd-io/etcd#11456, #19597): a waiter's lease ends while it waits.
// Observed of v3.7.3: it waits on, until its predecessor has gone; then it looks for its key
// and returns ErrSessionExpired.
func TestCase22and23(t *testing.T) {
	_, holder, waits := waiter(t)
	before := false
	select {
	case err := <-waits:
		before = true
		waits <- err
	default:
	}
	if err := holder.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := <-waits
	t.Logf("its session is done, the waiter has returned before its predecessor released: %v; it returns: %v", before, err)
	if !errors.Is(err, concurrency.ErrSessionExpired) {
		t.Errorf("Lock: %v, want an expired session", err)
	}
}

// TestCase24 (etcd-io/etcd#10111): Lock with a context that ends. Observed of v3.7.3: always
// an error; while it waits, its key is deleted before it returns; while its first
// request is under way, the key stays, until its session ends.
func TestCase24(t *testing.T) {
	target := backendtest.Target(t, "etcd-1")
	proxy := tcpproxy.New(t, target.Addrs[0])
	b := &bench{t, connect(t, proxy.Addr()), connect(t, target.Addrs[0]), target.Prefix + "k/"}
	lockWith := func(ctx context.Context, s *concurrency.Session) chan error {
		got := make(chan error, 1)
		go func() { got <- concurrency.NewMutex(s, target.Prefix+"k").Lock(ctx) }()
		return got
	}
	s := b.session()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := <-lockWith(ctx, s); !errors.Is(err, context.Canceled) || b.keys() != 0 {
		t.Errorf("ended before: %v and %d keys", err, b.keys())
	}

	holder := concurrency.NewMutex(b.session(), target.Prefix+"k")
	if err := holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	got := lockWith(ctx, s)
	b.await(2)
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) || b.keys() != 1 {
		t.Errorf("ended while waiting: %v and %d keys, want 1, the holder's", err, b.keys())
	}
	if err := holder.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}

	proxy.HoldReplies(true)
	ctx, cancel = context.WithCancel(t.Context())
	got = lockWith(ctx, s)
	b.await(1) // the server has done it
	cancel()
	err := <-got
	proxy.HoldReplies(false)
	if _, err := b.c.Get(t.Context(), b.prefix); err != nil { // the connection works again
		t.Fatal(err)
	}
	t.Logf("ended while its request was under way: %v, and %d key left", err, b.keys())
	if err == nil {
		t.Error("Lock returns nil on a cancelled context")
	}
}

// TestCancelMidway is the last of these through this package: the session is closed, and
// its key with it.
func TestCancelMidway(t *testing.T) {
	target := backendtest.Target(t, "etcd-1")
	proxy := tcpproxy.New(t, target.Addrs[0])
	b := &bench{t, nil, connect(t, target.Addrs[0]), target.Prefix + "k/"}
	target.TTL = peertest.Hang
	target.Addrs = []string{proxy.Addr()}
	c := peertest.Dial(t, etcdconcurrency.Infos()[0], target)
	proxy.HoldReplies(true)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k", lock.AcquireOptions{TTL: target.TTL})
		got <- err
	}()
	b.await(1)
	cancel()
	if err := <-got; !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("acquire: %v, want unknown", err)
	}
	proxy.HoldReplies(false)
	b.await(0)
}

// TestOneSession: two Mutexes of one session are one owner. This is why there is a pool.
func TestOneSession(t *testing.T) {
	target := backendtest.Target(t, "etcd-1")
	c := connect(t, target.Addrs[0])
	b := &bench{t, c, c, target.Prefix + "k/"}
	s := b.session()
	for range 2 {
		if err := concurrency.NewMutex(s, target.Prefix+"k").Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.keys(); n != 1 {
		t.Errorf("%d keys, want 1 for both", n)
	}
}

// TestCutOff: the holder's keep-alives do not get through. Observed of v3.7.3: it is told
// by its own clock, which is looked at once a second.
func TestCutOff(t *testing.T) {
	target := backendtest.Target(t, "etcd-1")
	b := &bench{t, nil, connect(t, target.Addrs[0]), target.Prefix + "k/"}
	target.TTL = 2 * time.Second
	peertest.CutOff(t, etcdconcurrency.Infos()[0], target, tcpproxy.New(t, target.Addrs[0]), func() bool { return b.keys() == 0 })
}
