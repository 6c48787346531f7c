package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lockbench/lock"
)

func TestInfos(t *testing.T) {
	for _, i := range Infos() {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestExclusion has several clients with several workers each on one key, and every
// guarantee that does not need a fault.
func TestExclusion(t *testing.T) {
	for _, topology := range []string{one, "zookeeper-3"} {
		t.Run(topology, func(t *testing.T) { exclusion(t, target(t, topology, long)) })
	}
}

func exclusion(t *testing.T, g lock.Target) {
	const clients, workers, each = 3, 3, 8
	var (
		all    sync.WaitGroup
		inside sync.Mutex // TryLock tells an overlap
		tokens []uint64   // in the section's order
		some   *client
	)
	for range clients {
		c := fresh(t, g)
		some = c
		for range workers {
			all.Go(func() {
				for range each {
					l, err := c.Acquire(t.Context(), "k", options())
					if err != nil {
						t.Errorf("acquire: %v", err)
						return
					}
					if !inside.TryLock() {
						t.Error("two holders")
						return
					}
					token, ok := l.Token()
					if n := len(tokens); !ok || n > 0 && token <= tokens[n-1] {
						t.Errorf("token %d, %v after %v", token, ok, tokens)
					}
					tokens = append(tokens, token)
					if err := l.(lock.Guarded).Apply(t.Context(), 1); err != nil {
						t.Errorf("apply: %v", err)
					}
					inside.Unlock()
					if err := l.Release(t.Context()); err != nil {
						t.Errorf("release: %v", err)
					}
				}
			})
		}
	}
	all.Wait()
	if v, err := some.Value(t.Context(), "k"); err != nil || v != clients*workers*each {
		t.Errorf("value %d, %v: want %d", v, err, clients*workers*each)
	}
	if left := queue(t, some, "k"); len(left) > 0 {
		t.Errorf("left in the queue: %q", left)
	}
}

// TestFIFO stages arrivals: each is in the queue before the next comes.
func TestFIFO(t *testing.T) {
	g := target(t, one, long)
	clients := []*client{fresh(t, g), fresh(t, g), fresh(t, g)}
	held := acquire(t, clients[0], "k")
	const waiters = 9
	order := make(chan int, waiters)
	var all sync.WaitGroup
	for i := range waiters {
		c := clients[i%len(clients)]
		all.Go(func() {
			l, err := c.Acquire(t.Context(), "k", options())
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
				order <- -1
				return
			}
			order <- i
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
		awaitQueue(t, clients[0], "k", 2+i)
	}
	release(t, held)
	for want := range waiters {
		if got := get(t, "a grant", order); got != want {
			t.Fatalf("granted to %d, want %d", got, want)
		}
	}
	all.Wait()
}

// TestRoundTrips counts what an uncontended acquisition waits for: create and getChildren at
// once, and delete. go-zookeeper's own Lock sends as many requests, one
// after the other, and has no token.
func TestRoundTrips(t *testing.T) {
	c := dial(t, target(t, one, long))
	if err := c.Prepare(t.Context(), []string{"k"}); err != nil {
		t.Fatal(err)
	}
	for _, fence := range []bool{false, true} {
		trace := lock.NewTrace()
		ctx := lock.WithTrace(t.Context(), trace)
		o := options()
		o.Fence = fence
		l, err := c.Acquire(ctx, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		if n := trace.Trips(); n != 1 {
			t.Errorf("fence %v: %d round trips to acquire, want 1", fence, n)
		}
		if err := l.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if n, a := trace.Trips(), trace.Attempts(); n != 2 || a != 1 {
			t.Errorf("fence %v: %d round trips in all, %d attempts; want 2, 1", fence, n, a)
		}
	}
}

func TestTry(t *testing.T) {
	c := dial(t, target(t, one, long))
	held := acquire(t, c, "k")
	o := options()
	o.Try = true
	if _, err := c.Acquire(t.Context(), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
		t.Fatalf("try: %v", err)
	}
	if q := queue(t, c, "k"); len(q) != 1 {
		t.Errorf("after a try that failed: %q", q)
	}
	release(t, held)
	l, err := c.Acquire(t.Context(), "k", o)
	if err != nil {
		t.Fatalf("try: %v", err)
	}
	release(t, l)
	if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("second release: %v", err)
	}
}

// TestLeaving: a waiter that leaves gives up its place, and those behind it wait for the
// holder, not for nobody.
func TestLeaving(t *testing.T) {
	g := target(t, one, long)
	a, b := fresh(t, g), fresh(t, g)
	held := acquire(t, a, "k")
	ctx, leave := context.WithCancel(t.Context())
	middle := begin(ctx, b, "k")
	awaitQueue(t, a, "k", 2)
	last := begin(t.Context(), b, "k")
	awaitQueue(t, a, "k", 3)
	leave()
	if r := get(t, "the one that left", middle); !errors.Is(r.err, context.Canceled) {
		t.Fatalf("left: %v, %v", r.l, r.err)
	}
	awaitQueue(t, a, "k", 2)
	select {
	case r := <-last:
		t.Fatalf("granted while held: %v, %v", r.l, r.err)
	default:
	}
	release(t, held)
	r := get(t, "the last", last)
	if r.err != nil {
		t.Fatal(r.err)
	}
	release(t, r.l)
}

func TestReentry(t *testing.T) {
	c := dial(t, target(t, one, long))
	o := options()
	o.Owner, o.Fence = "me", true
	var leases []lock.Lease
	var tokens []uint64
	for range 2 {
		l, err := c.Acquire(t.Context(), "k", o)
		if err != nil {
			t.Fatal(err)
		}
		token, _ := l.Token()
		leases, tokens = append(leases, l), append(tokens, token)
	}
	if tokens[0] != tokens[1] {
		t.Errorf("tokens %v", tokens)
	}
	release(t, leases[1])
	if q := queue(t, c, "k"); len(q) != 1 {
		t.Errorf("after one of two releases: %q", q)
	}
	release(t, leases[0])
	if q := queue(t, c, "k"); len(q) != 0 {
		t.Errorf("after both: %q", q)
	}
}

// TestTTL: the server bounds the session's timeout, and says to what.
func TestTTL(t *testing.T) {
	g := target(t, one, time.Millisecond*200)
	c := dial(t, g)
	least, err := c.MinTTL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if least <= g.TTL || current(t, c).ttl != least {
		t.Errorf("asked for %v: granted %v, the least is said to be %v", g.TTL, current(t, c).ttl, least)
	}
	g.TTL = time.Hour
	if got := current(t, fresh(t, g)).ttl; got >= g.TTL {
		t.Errorf("asked for %v: granted %v", g.TTL, got)
	}
}

// TestDialErrors: nobody there, somebody else there, and nonsense.
func TestDialErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*lock.Target)
	}{
		{"no address", func(g *lock.Target) { g.Addrs = nil }},
		{"no prefix", func(g *lock.Target) { g.Prefix = "" }},
		{"refused", func(g *lock.Target) { g.Addrs = []string{"127.0.0.1:1"} }},
		{"no file", func(g *lock.Target) { g.TLS = &lock.TLS{CAFile: "/nowhere"} }},
	} {
		g := lock.Target{
			Addrs: []string{"127.0.0.1:1"}, Prefix: "lockbench/test/t/", TTL: time.Second, DialTimeout: 200 * time.Millisecond,
			User: "u", Password: "swordfish",
		}
		c.change(&g)
		_, err := Dial(t.Context(), g)
		if err == nil {
			t.Errorf("%s: no error", c.name)
		} else if s := fmt.Sprint(err); len(s) == 0 || contains(s, g.Password) {
			t.Errorf("%s: %s", c.name, s)
		}
	}
}

// TestDigest: nodes of a client with a password are its own.
func TestDigest(t *testing.T) {
	g := target(t, one, long)
	mine := g
	mine.User, mine.Password = "u", "swordfish"
	mine.Meter = nil
	c := dial(t, mine)
	release(t, acquire(t, c, "k"))
	_, err := fresh(t, g).Acquire(t.Context(), "k", options())
	if !errors.Is(err, lock.ErrNotAcquired) || contains(err.Error(), mine.Password) {
		t.Errorf("without the password: %v", err)
	}
	// What nobody else may remove.
	for path := c.d.dir("k"); path != "/lockbench"; path = path[:lastSlash(path)] {
		if err := current(t, c).conn.Delete(path, -1); err != nil {
			t.Errorf("remove %s: %v", path, err)
		}
	}
}

// TestClosed: Close ends what waits, and frees what is held.
func TestClosed(t *testing.T) {
	g := target(t, one, long)
	a, b := fresh(t, g), fresh(t, g)
	acquire(t, a, "k")
	waiter := begin(t.Context(), b, "k")
	awaitQueue(t, a, "k", 2)
	second := begin(t.Context(), a, "k")
	awaitQueue(t, a, "k", 3)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if r := get(t, "the closed client's waiter", second); r.err == nil {
		t.Error("a waiter of a closed client was granted the lock")
	}
	r := get(t, "the other client's", waiter)
	if r.err != nil {
		t.Fatal(r.err)
	}
	release(t, r.l)
	if _, err := a.Acquire(t.Context(), "k", options()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("after Close: %v", err)
	}
}
