package etcd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/lock"
)

func TestInfos(t *testing.T) {
	for _, i := range Infos() {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
	}
}

var topologies = []string{"etcd-1", "etcd-3"}

// Workers of one client are different owners, and exclude each other as those of
// different clients do; tokens grow from holder to holder.
func TestExclusion(t *testing.T) {
	for _, top := range topologies {
		t.Run(top, func(t *testing.T) {
			tg := shared(t, top)
			tg.TTL = steady
			const clients, workers, rounds = 3, 3, 12
			var inside atomic.Int32
			var token uint64
			var applied atomic.Int64
			var wg sync.WaitGroup
			first := connect(t, tg)
			for i := range clients {
				c := first
				if i > 0 {
					c = connect(t, tg)
				}
				for range workers {
					wg.Go(func() {
						for range rounds {
							l, err := c.Acquire(within(t), "hot", options(tg))
							if err != nil {
								t.Errorf("acquire: %v", err)
								return
							}
							if n := inside.Add(1); n != 1 {
								t.Errorf("%d are inside", n)
							}
							tok, ok := l.Token()
							if !ok || tok <= token { // token: protected by the lock itself
								t.Errorf("token %d, %t after %d", tok, ok, token)
							}
							token = tok
							if err := l.(lock.Guarded).Apply(within(t), 3); err != nil {
								t.Errorf("apply: %v", err)
							} else {
								applied.Add(3)
							}
							inside.Add(-1)
							if err := l.Release(within(t)); err != nil {
								t.Errorf("release: %v", err)
							}
						}
					})
				}
			}
			wg.Wait()
			if got, want := value(t, first, "hot"), applied.Load(); got != want {
				t.Errorf("value: got %d, want %d: what was acknowledged", got, want)
			}
			if q := looking(t, tg).queue("hot"); len(q) != 0 {
				t.Errorf("the queue still has %q", q)
			}
		})
	}
}

// Waiters are granted the lock in the order in which they joined the queue.
func TestFIFO(t *testing.T) {
	for _, top := range topologies {
		t.Run(top, func(t *testing.T) {
			tg := shared(t, top)
			tg.TTL = steady
			cs := []*client{connect(t, tg), connect(t, tg)}
			see := looking(t, tg)
			held := acquire(t, cs[0], "k", options(tg))
			const waiters = 8
			var mu sync.Mutex
			var order []int
			var wg sync.WaitGroup
			for i := range waiters {
				wg.Go(func() {
					l, err := cs[i%2].Acquire(within(t), "k", options(tg))
					if err != nil {
						t.Errorf("waiter %d: %v", i, err)
						return
					}
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					if err := l.Release(within(t)); err != nil {
						t.Errorf("waiter %d: release: %v", i, err)
					}
				})
				see.queued("k", i+2)
			}
			release(t, held)
			wg.Wait()
			if !slices.IsSorted(order) || len(order) != waiters {
				t.Errorf("order of grants: %v", order)
			}
		})
	}
}

// One request takes a free lock and one gives it back; a handoff costs its winner one
// after the release.
func TestRoundTrips(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = 10 * time.Minute // no renewal counts here
	tg.Meter = &lock.Meter{}
	c := connect(t, tg)
	before := tg.Meter.Commands.Load()
	tr := lock.NewTrace()
	ctx := lock.WithTrace(within(t), tr)
	l, err := c.Acquire(ctx, "k", options(tg))
	if err != nil {
		t.Fatal(err)
	}
	if tr.Trips() != 1 || tr.Attempts() != 1 {
		t.Errorf("acquire: %d round trips, %d attempts, want 1, 1", tr.Trips(), tr.Attempts())
	}
	tr = lock.NewTrace()
	if err := l.Release(lock.WithTrace(within(t), tr)); err != nil {
		t.Fatal(err)
	}
	if tr.Trips() != 1 {
		t.Errorf("release: %d round trips, want 1", tr.Trips())
	}
	if n := tg.Meter.Commands.Load() - before; n != 2 {
		t.Errorf("%d commands, want 2", n)
	}

	other := tg
	other.Meter = nil // the periodic reading of a waiter is not what is counted here
	held := acquire(t, connect(t, other), "k", options(tg))
	tr = lock.NewTrace()
	got := start(lock.WithTrace(within(t), tr), c, "k", options(tg))
	looking(t, tg).queued("k", 2)
	until(t, "the watch", func() bool { return tr.Trips() == 2 })
	at := time.Now()
	release(t, held)
	r := await(t, "the grant", got)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if n := tr.TripsSince(at); n != 1 {
		t.Errorf("handoff: %d round trips after the release, want 1", n)
	}
	release(t, r.l)
}

// A try of a lock that is held changes nothing.
func TestTry(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)
	for _, renew := range []bool{true, false} {
		o := options(tg)
		o.Try, o.Renew = true, renew
		held := acquire(t, a, "k", o)
		for _, c := range []*client{a, b} {
			l, err := c.Acquire(within(t), "k", o)
			wantErr(t, fmt.Sprintf("try, renew=%t", renew), err, lock.ErrNotAcquired)
			if l != nil {
				t.Error("an error, and a lease")
			}
		}
		if q := see.queue("k"); len(q) != 1 {
			t.Errorf("queue: %q, want the holder alone", q)
		}
		release(t, held)
		release(t, acquire(t, b, "k", o))
	}
}

// Keys with slashes are locks of their own.
func TestKeyNames(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	c := connect(t, tg)
	var held []lock.Lease
	for _, key := range []string{"", "a", "a/b", "a%2Fb", "a#value", "#", "a/b/c"} {
		o := options(tg)
		o.Try = true
		l := acquire(t, c, key, o)
		if err := l.(lock.Guarded).Apply(within(t), 1); err != nil {
			t.Errorf("%q: %v", key, err)
		}
		if v := value(t, c, key); v != 1 {
			t.Errorf("%q: value %d, want 1", key, v)
		}
		held = append(held, l)
	}
	for _, l := range held {
		release(t, l)
	}
}

func TestMinTTL(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = time.Second // granted: 2 s
	c := connect(t, tg)
	got, err := c.MinTTL(within(t))
	if err != nil || got != 2*time.Second {
		t.Errorf("got %v, %v, want 2s: ceil(1.5 x 1 s)", got, err)
	}
	if s := sessionOf(t, c); s.ttl != got {
		t.Errorf("a session of %v, want what is granted, %v", s.ttl, got)
	}
}

// A client leaves nothing behind, whatever its workers were doing.
func TestCloseLeavesNothing(t *testing.T) {
	tg := shared(t, "etcd-3")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)
	l := acquire(t, a, "k", options(tg))
	acquire(t, a, "other", options(tg))
	waiting := start(within(t), a, "k", options(tg))
	see.queued("k", 2)
	lease := clientv3.LeaseID(sessionOf(t, a).id)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if r := await(t, "the waiter's return", waiting); r.err == nil {
		t.Error("a waiter of a closed client got the lock")
	}
	await(t, "the holder's being told", l.Lost())
	if r, err := see.TimeToLive(within(t), lease); err != nil || r.TTL != -1 {
		t.Errorf("the lease is still there: %+v, %v", r, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if k := see.keys(); len(k) != 0 {
		t.Errorf("left behind: %q", k)
	}
	if _, err := a.Acquire(context.Background(), "k", options(tg)); err == nil {
		t.Error("a closed client acquired")
	}
}

// Without renewal a lease ends at its TTL, counted from the grant however long the wait was.
func TestNoRenewal(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)
	o := options(tg)
	o.Renew, o.TTL = false, 2*time.Second
	held := acquire(t, a, "k", options(tg))
	waiting := start(within(t), b, "k", o)
	see.queued("k", 2)
	// Another lease of the same TTL, granted now, is to expire while the waiter waits.
	g, err := see.Grant(within(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the lease's expiry", func() bool {
		r, err := see.TimeToLive(within(t), g.ID)
		return err == nil && r.TTL == -1
	})
	release(t, held)
	r := await(t, "the grant", waiting)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if _, ok := r.l.ValidUntil(); !ok {
		t.Error("no deadline")
	}
	await(t, "the deadline", r.l.Lost())
	wantErr(t, "release after the deadline", r.l.Release(within(t)), lock.ErrNotHeld)
	see.queued("k", 0)
	release(t, acquire(t, b, "k", o))
}
