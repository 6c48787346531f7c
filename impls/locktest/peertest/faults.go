package peertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// Orphan: the reply of a grant is held back until the caller has left. proxy stands
// before the target's only server.
func Orphan(t *testing.T, info lock.Info, target lock.Target, proxy *tcpproxy.Proxy) {
	direct := Dial(t, info, target)
	target.Addrs = []string{proxy.Addr()}
	c := Dial(t, info, target)
	o := lock.AcquireOptions{TTL: Hang, Try: true}
	c.Put(c.Get("other", o)) // the connection is there
	proxy.HoldReplies(true)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k", o)
		got <- err
	}()
	proxy.AwaitHeld(1)
	if _, err := direct.Acquire(t.Context(), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("try while it is granted to another: %v", err)
	}
	cancel()
	proxy.HoldReplies(false) // a library may return only when it has the reply
	if err := <-got; !errors.Is(err, lock.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v, want unknown and canceled", err)
	}
	Await(t, "the orphan", func() bool { return c.Meter.Orphans.Load() == 1 })
	Await(t, "the lock to be free", func() bool {
		l, err := direct.Acquire(t.Context(), "k", o)
		if err == nil {
			direct.Put(l)
		}
		return err == nil
	})
}

// Lost: a lease that nobody renews runs out by itself.
func Lost(t *testing.T, info lock.Info, target lock.Target) {
	a, b := Dial(t, info, target), Dial(t, info, target)
	l := a.Get("k", lock.AcquireOptions{TTL: 100 * time.Millisecond, Renew: true})
	select {
	case <-l.Lost():
	case <-time.After(Hang):
		t.Fatal("the lease does not end")
	}
	next := b.Get("k", lock.AcquireOptions{TTL: Hang})
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release of a lost lease: %v, want not held", err)
	}
	if _, err := a.Acquire(t.Context(), "k", lock.AcquireOptions{TTL: Hang, Try: true}); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("the successor's lock: %v, want not acquired", err)
	}
	b.Put(next)
}

// CutOff: the network before a holder delivers nothing for longer than its lease lives,
// then everything. By then it must know that the lease is lost; what it knew meanwhile is
// logged. gone reports whether the service has dropped the lock.
func CutOff(t *testing.T, info lock.Info, target lock.Target, proxy *tcpproxy.Proxy, gone func() bool) {
	target.Addrs = []string{proxy.Addr()}
	c := Dial(t, info, target)
	l := c.Get("k", lock.AcquireOptions{TTL: target.TTL, Renew: true})
	proxy.Hold(true)
	Await(t, "the service to drop the lock", gone)
	dropped := time.Now()
	const look = 2 * time.Second // how long the log looks, no expectation
	select {
	case <-l.Lost():
		t.Logf("TTL %v: told %v after the lock was gone, or before", target.TTL, time.Since(dropped).Round(10*time.Millisecond))
	case <-time.After(look):
		t.Logf("TTL %v: not told in %v after the lock was gone, as long as it is cut off", target.TTL, look)
	}
	proxy.Hold(false)
	select {
	case <-l.Lost():
	case <-time.After(Hang):
		t.Fatal("the lock is gone, but the lease is not lost")
	}
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release of a lost lease: %v, want not held", err)
	}
}
