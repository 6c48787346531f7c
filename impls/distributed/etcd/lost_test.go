package etcd

import (
	"context"
	"runtime"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"lockbench/lock"
)

// A session that is revoked ends everything that stands on it: the holder is told, its waiters
// return, the next in line is granted, and the old holder's release and writes do not
// touch him.
func TestSessionRevoked(t *testing.T) {
	tg := shared(t, "etcd-3")
	long := tg // the client that loses its session has a short one, to be told soon
	long.TTL = steady
	a, b := connect(t, tg), connect(t, long)
	see := looking(t, tg)
	old := acquire(t, a, "k", options(tg))
	if err := old.(lock.Guarded).Apply(within(t), 5); err != nil {
		t.Fatal(err)
	}
	next := start(within(t), b, "k", options(long))
	see.queued("k", 2)
	held := acquire(t, b, "other", options(long))
	waiting := start(within(t), a, "other", options(tg))
	see.queued("other", 2)

	see.revokeSession(a)
	await(t, "the holder's being told", old.Lost())
	wantErr(t, "a waiter of the lost session", await(t, "its return", waiting).err, lock.ErrNotAcquired)
	r := await(t, "the next grant", next)
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantErr(t, "write after the loss", old.(lock.Guarded).Apply(within(t), 100), lock.ErrNotHeld)
	if err := r.l.(lock.Guarded).Apply(within(t), 7); err != nil {
		t.Errorf("write by the successor: %v", err)
	}
	wantErr(t, "release after the loss", old.Release(within(t)), lock.ErrNotHeld)
	if q := see.queue("k"); len(q) != 1 {
		t.Errorf("queue: %q, want the successor", q)
	}
	if v := value(t, b, "k"); v != 12 {
		t.Errorf("value: got %d, want 12: what was acknowledged", v)
	}
	was, _ := old.Token()
	if is, ok := r.l.Token(); !ok || is <= was {
		t.Errorf("token %d after %d", is, was)
	}
	release(t, r.l)
	release(t, held)
	release(t, acquire(t, a, "k", options(tg))) // in a new session
}

// Case 22 (etcd#11456): the own key is gone when the wait is over. The concurrency package,
// which once returned from Lock all the same, now reads its key again, in a request of its
// own after the one that found nobody before it (v3.7.3).
func TestCase22OwnKeyGoneWhenWaitEnds(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)
	held := acquire(t, a, "k", options(tg))
	waiting := start(within(t), b, "k", options(tg))
	see.queued("k", 2)
	q := see.queue("k")
	if _, err := see.Txn(within(t)).Then(clientv3.OpDelete(tg.Prefix+q[0]), clientv3.OpDelete(tg.Prefix+q[1])).Commit(); err != nil {
		t.Fatal(err)
	}
	r := await(t, "the waiter's return", waiting)
	wantErr(t, "acquire", r.err, lock.ErrNotAcquired)
	wantErr(t, "acquire", r.err, errLost)
	if r.l != nil {
		t.Error("an error, and a lease")
	}
	wantErr(t, "release of a lock whose key was deleted", held.Release(within(t)), lock.ErrNotHeld)
	release(t, acquire(t, b, "k", options(tg)))
}

// Case 23 (etcd#19597): the session of a waiter ends, and it returns while the holder goes on
// holding. The concurrency package waits until all before it are gone, and tells the
// caller then; its source has a note that says so.
func TestCase23WaiterOfLostSessionReturns(t *testing.T) {
	tg := shared(t, "etcd-1")
	long := tg
	long.TTL = steady
	a, b := connect(t, long), connect(t, tg)
	see := looking(t, tg)
	held := acquire(t, a, "k", options(long))
	waiting := start(within(t), b, "k", options(tg))
	see.queued("k", 2)
	see.revokeSession(b)
	wantErr(t, "acquire", await(t, "the waiter's return", waiting).err, errLost)
	if q := see.queue("k"); len(q) != 1 {
		t.Errorf("queue: %q, want the holder", q)
	}
	release(t, held)
}

// Case 24 (etcd#10111): a context that ends is an error at whatever moment, and nothing is
// held or queued afterwards. The concurrency package deletes its key with the
// client's own context, and ignores what becomes of that.
func TestCase24CancelledContext(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	a, b := connect(t, tg), connect(t, tg)
	see := looking(t, tg)

	ended, cancel := context.WithCancel(within(t))
	cancel()
	_, err := b.Acquire(ended, "k", options(tg))
	wantErr(t, "before", err, context.Canceled)
	wantErr(t, "before", err, lock.ErrNotAcquired)

	// While it is being granted: whoever wins, an error means that nothing is held.
	for i := range 200 {
		ctx, cancel := context.WithCancel(within(t))
		got := start(ctx, b, "k", options(tg))
		for range i { // a little later each time
			runtime.Gosched()
		}
		cancel()
		r := await(t, "the return", got)
		switch {
		case r.err == nil && r.l != nil:
			release(t, r.l)
		case r.err == nil || r.l != nil:
			t.Fatalf("lease %v with error %v", r.l, r.err)
		}
	}
	see.queued("k", 0)

	held := acquire(t, a, "k", options(tg))
	ctx, cancel := context.WithCancel(within(t))
	waiting := start(ctx, b, "k", options(tg))
	see.queued("k", 2)
	cancel()
	wantErr(t, "while waiting", await(t, "the return", waiting).err, context.Canceled)
	see.queued("k", 1)
	release(t, held)
}
