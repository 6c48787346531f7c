package etcd

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// asking makes a client send its requests to the n-th address.
func (c *client) asking(n int32) { c.d.c.cur.Store(n) }

// viaProxy returns a target with two ways to one server, the first through a proxy.
func viaProxy(t testing.TB, tg lock.Target) (lock.Target, *tcpproxy.Proxy) {
	t.Helper()
	p := tcpproxy.New(t, tg.Addrs[0])
	tg.Addrs = []string{p.Addr(), tg.Addrs[0]}
	return tg, p
}

// The answer to the put is lost, and the caller has left: his key is deleted.
func TestReplyLostAndCallerGone(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	tg.Meter = &lock.Meter{}
	see := looking(t, tg)
	behind, p := viaProxy(t, tg)
	c := connect(t, behind)
	c.asking(0)
	release(t, acquire(t, c, "k", options(tg))) // the connection is there
	c.asking(0)
	p.HoldReplies(true)
	ctx, cancel := context.WithCancel(within(t))
	got := start(ctx, c, "k", options(tg))
	see.queued("k", 1)
	cancel()
	wantErr(t, "acquire", await(t, "the return", got).err, lock.ErrUnknown)
	p.Cut()
	see.queued("k", 0)
	p.HoldReplies(false)
	release(t, acquire(t, connect(t, tg), "k", options(tg)))
}

// The answer to the put is lost, and the caller waits: he gets the lock, and has one key.
func TestReplyLostAndCallerWaits(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	see := looking(t, tg)
	behind, p := viaProxy(t, tg)
	c := connect(t, behind)
	c.asking(0)
	release(t, acquire(t, c, "k", options(tg)))
	for _, renew := range []bool{true, false} {
		c.asking(0)
		o := options(tg)
		o.Renew, o.TTL = renew, 6*time.Second
		if renew {
			o.TTL = tg.TTL
		}
		p.HoldReplies(true)
		got := start(within(t), c, "k", o)
		if renew {
			see.queued("k", 1)
			p.Cut()
		}
		r := await(t, "the grant", got)
		if r.err != nil {
			t.Fatalf("renew=%t: %v", renew, r.err)
		}
		if q := see.queue("k"); len(q) != 1 {
			t.Errorf("renew=%t: queue: %q, want the holder alone", renew, q)
		}
		release(t, r.l)
		see.queued("k", 0)
		p.HoldReplies(false)
	}
}

// A put comes to the server long after its sender has given up: it has no effect.
func TestLatePut(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = 3 * time.Second
	see := looking(t, tg)
	behind, p := viaProxy(t, tg)
	c := connect(t, behind)
	c.asking(0)
	release(t, acquire(t, c, "k", options(tg)))

	// The request itself, as join sends it, with no timeout of its own: it
	// arrives for sure, after its member was withdrawn.
	s := sessionOf(t, c)
	q := c.d.queue("k")
	m := &member{s: s, queue: q, key: c.d.names.member(q, c.d.names.take())}
	p.HoldRequests(true)
	c.asking(0)
	joined := make(chan error, 1)
	go func() {
		then, els := m.joining()
		sv := c.d.c.all[0]
		r, err := sv.kv.Txn(c.d.leader).If(m.condition(s.version.Load())...).Then(then...).Else(els...).Commit()
		if err == nil && r.Succeeded {
			t.Error("the late put came into effect")
		}
		joined <- err
	}()
	p.AwaitHeldRequests(1)
	c.asking(1)
	if there, err := c.d.withdraw(within(t), m, 0); there || err != nil {
		t.Fatalf("withdraw: %t, %v", there, err)
	}
	p.HoldRequests(false)
	if err := await(t, "the late answer", joined); err != nil {
		t.Fatal(err)
	}
	if k := see.queue("k"); len(k) != 0 {
		t.Errorf("queue: %q", k)
	}
	release(t, acquire(t, c, "k", options(tg))) // the session goes on
}

// A release without an answer is sent again, to another server, and succeeds.
func TestReleaseReplyLost(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	see := looking(t, tg)
	behind, p := viaProxy(t, tg)
	c := connect(t, behind)
	c.asking(0)
	l := acquire(t, c, "k", options(tg))
	c.asking(0)
	p.HoldReplies(true)
	done := make(chan error, 1)
	go func() { done <- l.Release(within(t)) }()
	see.queued("k", 0)
	p.Cut()
	if err := await(t, "the release", done); err != nil {
		t.Errorf("release: %v", err)
	}
	p.HoldReplies(false)
}

// A release that nobody answers is unknown to its caller, and done all the same once
// the server can be reached.
func TestReleaseGoesOn(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	see := looking(t, tg)
	p := tcpproxy.New(t, tg.Addrs[0])
	behind := tg
	behind.Addrs = []string{p.Addr()}
	c := connect(t, behind)
	l := acquire(t, c, "k", options(tg))
	p.Refuse(true)
	p.Cut()
	ctx, cancel := context.WithCancel(within(t))
	done := make(chan error, 1)
	go func() { done <- l.Release(ctx) }()
	cancel()
	wantErr(t, "release", await(t, "the return", done), lock.ErrUnknown)
	p.Refuse(false)
	see.queued("k", 0)
}

// lossy does what it is asked, and loses the answers to writes while told to.
type lossy struct {
	clientv3.KV
	lose *atomic.Int32 // so many
}

type lossyTxn struct {
	clientv3.Txn
	lose   *atomic.Int32
	writes bool
}

func (l lossy) Txn(ctx context.Context) clientv3.Txn {
	return &lossyTxn{Txn: l.KV.Txn(ctx), lose: l.lose}
}

func (x *lossyTxn) If(c ...clientv3.Cmp) clientv3.Txn  { x.Txn = x.Txn.If(c...); return x }
func (x *lossyTxn) Else(o ...clientv3.Op) clientv3.Txn { x.Txn = x.Txn.Else(o...); return x }
func (x *lossyTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	for _, o := range ops {
		x.writes = x.writes || o.IsPut()
	}
	x.Txn = x.Txn.Then(ops...)
	return x
}

func (x *lossyTxn) Commit() (*clientv3.TxnResponse, error) {
	r, err := x.Txn.Commit()
	if err == nil && x.writes && x.lose.Add(-1) >= 0 {
		return nil, status.Error(codes.Unavailable, "the answer was lost")
	}
	return r, err
}

// The answers to guarded writes are lost: each is done once, and acknowledged. If the lock is
// lost meanwhile, the outcome is unknown.
func TestApplyReplyLost(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	c := connect(t, tg)
	var lose atomic.Int32
	sv := c.d.c.all[0]
	sv.kv = lossy{sv.kv, &lose}
	l := acquire(t, c, "k", options(tg))
	for i, n := range []int32{0, 1, 2, 0, 3} {
		lose.Store(n)
		if err := l.(lock.Guarded).Apply(within(t), 10); err != nil {
			t.Fatalf("apply %d: %v", i, err)
		}
		if v := value(t, c, "k"); v != int64(i+1)*10 {
			t.Fatalf("value: got %d, want %d", v, (i+1)*10)
		}
	}
	lose.Store(1 << 30)
	ctx, cancel := context.WithTimeout(within(t), 200*time.Millisecond)
	defer cancel()
	if err := l.(lock.Guarded).Apply(ctx, 10); err != nil { // it may be read back before the time is up
		wantErr(t, "apply", err, lock.ErrUnknown)
	}
	lose.Store(0)
	if v := value(t, c, "k"); v != 60 {
		t.Errorf("value: got %d, want 60", v)
	}
	release(t, l)
}

func TestDialFails(t *testing.T) {
	tg := lock.Target{Addrs: []string{"127.0.0.1:1"}, TTL: time.Second, DialTimeout: 2 * time.Second, Prefix: "lockbench/none/t/", Password: "s3cret", User: "u"}
	for _, user := range []string{"", "u"} {
		tg.User = user
		c, err := Dial(within(t), tg)
		if err == nil {
			_ = c.Close()
			t.Fatal("dialled nobody")
		}
		if strings.Contains(err.Error(), tg.Password) {
			t.Errorf("the password is in the error: %v", err)
		}
	}
	tg.TLS = &lock.TLS{CAFile: "no-such-file"}
	if _, err := Dial(within(t), tg); err == nil {
		t.Error("dialled without the CA's certificate")
	}
	if _, err := Dial(within(t), lock.Target{TTL: time.Second, DialTimeout: time.Second}); err == nil {
		t.Error("dialled without addresses")
	}
}
