package redis

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/lock"
)

// openFairTo returns a driver, below the kit, and its meter.
func openFairTo(t *testing.T, tg lock.Target) (*fair, *lock.Meter) {
	t.Helper()
	m := &lock.Meter{}
	tg.Meter = m
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	f, err := openFair(ctx, tg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, m
}

// arrives is a request of a token that reaches the server now, whenever it was sent.
func arrives(t *testing.T, f *fair, token string, ticket int64) []int64 {
	t.Helper()
	n := f.prefix + "k"
	got, err := f.s.EvalInts(context.Background(), time.Now(), hang, fairEnter, n, n+":queue", n+":seen", n+":tickets", fenceName(n),
		token, (10 * time.Minute).Milliseconds(), (5 * time.Minute).Milliseconds(), "0", "0", ticket, f.inbox)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func leaves(t *testing.T, f *fair, token string) {
	t.Helper()
	n := f.prefix + "k"
	if had, err := f.s.Eval(context.Background(), time.Now(), hang, fairLeave, n, n+":queue", n+":seen", token, f.inbox, "0"); err != nil || had != 1 {
		t.Fatalf("leave: %d, %v", had, err)
	}
}

// A request without a reply is sent again; the second is queued, and the first arrives when the
// lock is free: it takes it. The next request, which learns of that, dates the grant from when it was
// sent itself, so that the server's clock must start again, too.
func TestFairLateRequestTakesTheLock(t *testing.T) {
	f, _ := openFairTo(t, target(t))
	r, ctx := f.s.Client, context.Background()
	arrives(t, f, "holder", 0)
	queued := arrives(t, f, "me", 0) // the second
	if queued[0] != 0 {
		t.Fatalf("got %v, want to be queued", queued)
	}
	leaves(t, f, "holder")
	if got := arrives(t, f, "me", 0); got[0] != 1 { // the first
		t.Fatalf("the late request: got %v, want the lock", got)
	}
	r.PExpire(ctx, f.prefix+"k", time.Minute) // as if nine of ten minutes had passed
	if got := arrives(t, f, "me", queued[2]); got[0] != 1 {
		t.Fatalf("the next request: got %v, want the lock", got)
	}
	if left := r.PTTL(ctx, f.prefix+"k").Val(); left < 5*time.Minute {
		t.Errorf("the lock is granted for ten minutes from now, and the key expires in %v", left)
	}
}

// A late request that would queue again does not move its waiter behind those who came after.
func TestFairLateRequestKeepsThePlace(t *testing.T) {
	f, _ := openFairTo(t, target(t))
	arrives(t, f, "holder", 0)
	first, next := arrives(t, f, "me", 0), arrives(t, f, "next", 0)
	if late := arrives(t, f, "me", 0); late[2] != first[2] || next[2] <= first[2] {
		t.Errorf("tickets: me %v, next %v, me again, late %v", first, next, late)
	}
	if got := f.s.Client.ZRange(context.Background(), f.prefix+"k:queue", 0, -1).Val(); !slices.Equal(got, []string{"me", "next"}) {
		t.Errorf("the queue is %q", got)
	}
}

// A request arrives when its caller, whose second request was granted, has released the lock: what it
// takes is deleted and counted. It would stay for its TTL.
func TestFairLateRequestLeavesNoGhost(t *testing.T) {
	direct := target(t)
	tg, proxy := behind(t, direct)
	tg.TTL = time.Second // a request has a sixth of it
	f, m := openFairTo(t, tg)
	giveUp := f.giveUp
	calls := 0
	f.giveUp = func(ctx context.Context, a *attempt) (int64, error) {
		n, err := giveUp(ctx, a)
		if calls++; calls == 1 { // after the first look for it
			if got := arrives(t, f, a.token, 0); got[0] != 1 {
				t.Errorf("the late request: got %v, want the lock", got)
			}
		}
		return n, err
	}
	proxy.DropReplies(1)
	g, err := f.Acquire(context.Background(), "k", opts(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Release(context.Background(), g); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
	if !free(t, raw(t, direct), f.prefix+"k") {
		t.Error("the ghost is there")
	}
}

// Whoever leaves after a request without a reply looks twice for what that may leave.
func TestFairLeavesTwiceAfterALateRequest(t *testing.T) {
	for _, try := range []bool{false, true} {
		direct := target(t)
		tg, proxy := behind(t, direct)
		tg.TTL = time.Second
		holder, _ := dialTo(t, "redis-fair", direct)
		l := acquire(t, holder, "k", opts(10*time.Minute))
		f, _ := openFairTo(t, tg)
		giveUp := f.giveUp
		var calls atomic.Int64
		f.giveUp = func(ctx context.Context, a *attempt) (int64, error) {
			defer calls.Add(1)
			return giveUp(ctx, a)
		}
		proxy.DropReplies(1)
		tr := lock.NewTrace()
		ctx, cancel := context.WithCancel(lock.WithTrace(context.Background(), tr))
		done := make(chan error, 1)
		go func() {
			o := opts(3 * time.Second)
			o.Try = try
			_, err := f.Acquire(ctx, "k", o)
			done <- err
		}()
		proxy.AwaitDropped(1)
		if !try {
			eventually(t, "its second request was answered", func() bool { return tr.Trips() >= 3 })
			cancel()
		}
		if err := <-done; err == nil {
			t.Fatal("got the lock")
		}
		cancel()
		eventually(t, "two looks", func() bool { return calls.Load() == 2 })
		giveBack(t, l)
	}
}
