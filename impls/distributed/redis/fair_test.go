package redis

import (
	"context"
	"testing"
	"time"

	"lockbench/lock"
)

// queued waits until n waiters stand in the queue.
func queued(t *testing.T, tg lock.Target, n int64) {
	t.Helper()
	r := raw(t, tg)
	eventually(t, "the queue has its length", func() bool {
		got, err := r.ZCard(context.Background(), tg.Prefix+"k:queue").Result()
		if err != nil {
			t.Fatal(err)
		}
		return got == n
	})
}

// Granted in the order in which they were queued, over clients and workers.
func TestFairIsFIFO(t *testing.T) {
	tg := target(t)
	var cs []lock.Leaser
	for range 3 {
		c, _ := dialTo(t, "redis-fair", tg)
		cs = append(cs, c)
	}
	l := acquire(t, cs[0], "k", opts(10*time.Minute))
	const n = 12
	out := make(chan result, n)
	for i := range n {
		defer start(cs[(i*7)%3], i, opts(10*time.Minute), lock.NewTrace(), out)()
		queued(t, tg, int64(i+1))
	}
	// One that tries only does not pass them.
	o := opts(10 * time.Minute)
	o.Try = true
	giveBack(t, l)
	if late, err := cs[1].Acquire(context.Background(), "k", o); err == nil {
		t.Error("one that came last has passed the queue")
		giveBack(t, late)
	}
	for i := range n {
		r := <-out
		if r.err != nil {
			t.Fatal(r.err)
		}
		if r.who != i {
			t.Fatalf("waiter %d was granted in place %d", r.who, i)
		}
		giveBack(t, r.l)
	}
	queued(t, tg, 0)
}

// A waiter that dies is passed over after its patience, also by one that would hardly
// poll, and it does not take its own successors' places.
func TestFairPassesTheDead(t *testing.T) {
	direct := target(t)
	tg, proxy := behind(t, direct)
	holder, _ := dialTo(t, "redis-fair", direct)
	doomed, _ := dialTo(t, "redis-fair", tg)
	next, _ := dialTo(t, "redis-fair", direct)
	l := acquire(t, holder, "k", opts(10*time.Minute))
	out := make(chan result, 3)
	// Its TTL says how patient the queue is with it.
	for i := range 2 {
		defer start(doomed, i, opts(time.Second), lock.NewTrace(), out)()
		queued(t, direct, int64(i+1))
	}
	defer start(next, 2, seldom(2*time.Second), lock.NewTrace(), out)()
	queued(t, direct, 3)
	proxy.Hold(true) // as if the process were gone
	giveBack(t, l)
	for {
		r := <-out
		if r.who == 2 {
			if r.err != nil {
				t.Fatal(r.err)
			}
			giveBack(t, r.l)
			break
		}
		if r.err == nil {
			t.Fatalf("waiter %d was granted while it was cut off", r.who)
		}
	}
	proxy.Hold(false)
}

// A waiter that leaves is out of the queue, and the next one is told, if it was its turn.
func TestFairLeaveTheQueue(t *testing.T) {
	tg := target(t)
	c, _ := dialTo(t, "redis-fair", tg)
	l := acquire(t, c, "k", opts(10*time.Minute))
	out := make(chan result, 2)
	leave := start(c, 0, seldom(10*time.Minute), lock.NewTrace(), out)
	queued(t, tg, 1)
	defer start(c, 1, seldom(10*time.Minute), lock.NewTrace(), out)()
	queued(t, tg, 2)
	leave()
	if r := <-out; r.who != 0 || r.err == nil {
		t.Fatalf("waiter %d: %v", r.who, r.err)
	}
	queued(t, tg, 1)
	giveBack(t, l)
	r := <-out
	if r.err != nil {
		t.Fatal(r.err)
	}
	giveBack(t, r.l)
}

// A waiter that was silent for too long, and was removed, comes back at its place.
func TestFairKeepsTheTicket(t *testing.T) {
	tg := target(t)
	r := raw(t, tg)
	c, _ := dialTo(t, "redis-fair", tg)
	l := acquire(t, c, "k", opts(10*time.Minute))
	out := make(chan result, 2)
	ctx := context.Background()
	defer start(c, 0, opts(600*time.Millisecond), lock.NewTrace(), out)() // shows itself every 100 ms
	queued(t, tg, 1)
	first := r.ZRange(ctx, tg.Prefix+"k:queue", 0, 0).Val()[0]
	defer start(c, 1, opts(10*time.Minute), lock.NewTrace(), out)()
	queued(t, tg, 2)
	// As whoever looks at the queue does with one who is not seen.
	r.ZRem(ctx, tg.Prefix+"k:queue", first)
	r.ZRem(ctx, tg.Prefix+"k:seen", first)
	queued(t, tg, 2)
	if got := r.ZRange(ctx, tg.Prefix+"k:queue", 0, 0).Val()[0]; got != first {
		t.Error("it came back at another place")
	}
	giveBack(t, l)
	for want := range 2 {
		got := <-out
		if got.err != nil || got.who != want {
			t.Fatalf("waiter %d, %v; want %d", got.who, got.err, want)
		}
		giveBack(t, got.l)
	}
}

// What the queue leaves on the server ends by itself.
func TestFairLeavesNothing(t *testing.T) {
	tg := target(t)
	r := raw(t, tg)
	c, _ := dialTo(t, "redis-fair", tg)
	l := acquire(t, c, "k", opts(10*time.Minute))
	out := make(chan result, 1)
	defer start(c, 0, opts(time.Second), lock.NewTrace(), out)()
	queued(t, tg, 1)
	for _, of := range []string{":queue", ":seen", ":tickets"} {
		if ttl := r.PTTL(context.Background(), tg.Prefix+"k"+of).Val(); ttl <= 0 {
			t.Errorf("k%s does not expire: %v", of, ttl)
		}
	}
	giveBack(t, l)
	giveBack(t, (<-out).l)
}
