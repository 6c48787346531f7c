package rueidislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends"
	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// TestCase31 (redisson/redisson#5698, #3194): the renewal stalls, or does not begin again after a
// reconnect, and nobody is told. Observed of v1.0.79: the holder is told; a waiter is not.
func TestCase31(t *testing.T) {
	// The holder's connection is lost while it holds: the lease is renewed on, or lost, and then its key is
	// not in the way of others for longer than the TTL.
	t.Run("holder", func(t *testing.T) {
		target := backendtest.Target(t, "redis")
		target.TTL = time.Second
		proxy := tcpproxy.New(t, target.Addrs[0])
		through := target
		through.Addrs = []string{proxy.Addr()}
		c, rival := peertest.Dial(t, rueidislock.Patient(), through), peertest.Dial(t, rueidislock.Patient(), target)
		l := c.Get("k", lock.AcquireOptions{TTL: target.TTL, Renew: true})
		before := c.Meter.Commands.Load()
		proxy.Cut()
		lost := false
		peertest.Await(t, "an extension, or the loss", func() bool {
			select {
			case <-l.Lost():
				lost = true
			default:
			}
			return lost || c.Meter.Commands.Load() >= before+3
		})
		t.Logf("the connection is lost: the lease is lost too: %v", lost)
		if err := l.Release(t.Context()); lost != errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("release: %v, lost: %v", err, lost)
		}
		rival.Put(rival.Get("k", lock.AcquireOptions{TTL: target.TTL}))
	})

	// A waiter sleeps until the server says that the key has changed. It is woken when its connection is
	// lost, tries for 20 ms, and sleeps again if the server is not back by then. Its deletion of what the
	// attempt may have left is tried for the TTL; if the server is away for longer, nobody asks
	// anything over the next connection, and nothing wakes the waiter any more.
	t.Run("waiter", func(t *testing.T) {
		for range 3 {
			if err := sleepsOn(t); err == nil {
				return
			} else {
				t.Log(err)
			}
		}
		t.Error("the waiter is woken after a connection was lost: the library has changed")
	})
}

// sleepsOn returns nil if a waiter whose connection was lost sleeps on although the lock becomes free again and again.
func sleepsOn(t *testing.T) error {
	target := backendtest.Target(t, "redis")
	target.TTL = peertest.Hang
	proxy := tcpproxy.New(t, target.Addrs[0])
	through := target
	through.Addrs = []string{proxy.Addr()}
	through.TTL = 300 * time.Millisecond
	c, holder := peertest.Dial(t, rueidislock.Infos()[0], through), peertest.Dial(t, rueidislock.Patient(), target)
	o := lock.AcquireOptions{TTL: target.TTL}
	held := holder.Get("k", o)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	trace := lock.NewTrace()
	got := make(chan error, 1)
	go func() {
		l, err := c.Acquire(lock.WithTrace(ctx, trace), "k", o)
		if err == nil {
			err = errors.Join(errWoken, l.Release(context.WithoutCancel(ctx)))
		}
		got <- err
	}()
	peertest.Await(t, "the waiter's attempt", func() bool { return trace.Attempts() >= 1 })
	proxy.Refuse(true)
	proxy.Cut()
	peertest.Await(t, "the attempt without a server", func() bool { return trace.Attempts() >= 2 })
	time.Sleep(3 * through.TTL) // the attempt lasts 20 ms, the deletion the TTL
	proxy.Refuse(false)
	holder.Put(held)
	// The lock is free now, and is taken and given back again and again.
	const turns = 20
	for range turns {
		time.Sleep(50 * time.Millisecond)
		holder.Put(holder.Get("k", o))
	}
	select {
	case err := <-got:
		return err
	default:
	}
	t.Logf("the lock was released %d times, and the waiter sleeps on; attempts: %d", turns+1, trace.Attempts())
	leave()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v, want canceled", err)
	}
	return nil
}

var errWoken = errors.New("the waiter was woken")

// TestCase35 (valkey-io/valkey#2651): the server's clock jumps ahead. Observed of v1.0.79: worse than an
// expiry: the library sends times of the client's clock (PXAT), which are past for such a server; it
// answers OK and stores nothing, so that everybody who asks is granted the lock. Who asks next ends it for
// those before, by the message that the key has changed, some time after it is inside itself.
func TestCase35(t *testing.T) {
	cluster := backendtest.Fresh(t, "redis", func(o *backends.Options) { o.Clock = true })
	target, _ := backendtest.Fill(cluster)
	target.TTL = 20 * time.Second
	direct := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
	t.Cleanup(func() { _ = direct.Close() })
	const clients = 5
	var cs []*peertest.Client
	for range clients {
		cs = append(cs, peertest.Dial(t, rueidislock.Patient(), target))
	}
	if err := cluster.Nodes()[0].Shift(t.Context(), time.Hour); errors.Is(err, backends.ErrNoClock) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	unaware := 0 // of one that was granted the lock although they held it
	var held []lock.Lease
	for _, c := range cs {
		l, err := c.Try("k", lock.AcquireOptions{TTL: target.TTL, Try: true})
		if err != nil {
			t.Fatalf("client %d: %v: the library has changed", len(held), err)
		}
		if n := len(held); n > 0 {
			select {
			case <-held[n-1].Lost():
			default:
				unaware++
			}
		}
		held = append(held, l)
	}
	n := direct.DBSize(t.Context()).Val()
	t.Logf("the server's clock is an hour ahead: %d clients of %d are granted the lock, none has released it, %d keys on the server; %d of %d did not know yet when the next one was granted it",
		len(held), clients, n, unaware, clients-1)
	if n != 0 {
		t.Errorf("%d keys, want none: the library has changed", n)
	}
	for _, l := range held {
		_ = l.Release(t.Context()) // whatever it says: there is no key
	}
}
