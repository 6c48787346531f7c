package postgres

import (
	"context"
	"errors"
	"testing"

	"lockbench/lock"
)

// deadlock lets owners a and b each hold a key and ask for the other's. It returns
// the victim's and the other's first lease, and the other's second acquisition, still under way or not.
func deadlock(t *testing.T, cl lock.Leaser) (victim, other lock.Lease, second <-chan result) {
	t.Helper()
	first := []lock.Lease{mustAcquire(t, cl, "1", owner("a")), mustAcquire(t, cl, "2", owner("b"))}
	r := []<-chan result{acquiring(bounded(t), cl, "2", owner("a")), acquiring(bounded(t), cl, "1", owner("b"))}
	var x result
	i := 0
	select {
	case x = <-r[0]:
	case x = <-r[1]:
		i = 1
	}
	wantErr(t, x.err, lock.ErrDeadlock, lock.ErrNotAcquired)
	return first[i], first[1-i], r[1-i]
}

// A deadlock of session locks is named, and costs the victim its request only.
func TestDeadlockAdvisory(t *testing.T) {
	tg := target(t)
	victim, other, second := deadlock(t, leaser(t, "pg-advisory", tg))
	select {
	case <-victim.Lost():
		t.Error("the victim lost what it held")
	case x := <-second:
		t.Errorf("granted while the victim holds it: %v", x.err)
	default:
	}
	mustRelease(t, victim)
	x := got(t, second)
	if x.err != nil {
		t.Fatal(x.err)
	}
	mustRelease(t, x.lease)
	mustRelease(t, other)
	observe(t, tg).await(0, locked)
}

// One of transactions costs the victim its transaction, and so lets the other on.
func TestDeadlockTransaction(t *testing.T) {
	each(t, []string{"pg-advisory-xact", "pg-row"}, func(t *testing.T, name string) {
		tg := target(t)
		cl := leaser(t, name, tg)
		victim, other, second := deadlock(t, cl)
		awaitLost(t, victim)
		x := got(t, second)
		if x.err != nil {
			t.Fatal(x.err)
		}
		wantErr(t, victim.(lock.Guarded).Apply(bounded(t), 1), lock.ErrNotHeld)
		wantErr(t, victim.Release(bounded(t)), lock.ErrNotHeld)
		mustRelease(t, x.lease)
		mustRelease(t, other)
		observe(t, tg).await(0, locked)
		if v := value(t, cl, "1") + value(t, cl, "2"); v != 0 {
			t.Errorf("the lost transaction left %d", v)
		}
	})
}

// The writes of an owner's transaction become visible with its last release.
func TestOwnerCommitsAtLastRelease(t *testing.T) {
	each(t, guardeds, func(t *testing.T, name string) {
		tg := target(t)
		cl := leaser(t, name, tg)
		a := mustAcquire(t, cl, "a", owner("me"))
		b := mustAcquire(t, cl, "b", owner("me"))
		for _, le := range []lock.Lease{a, b} {
			if err := le.(lock.Guarded).Apply(bounded(t), 5); err != nil {
				t.Fatal(err)
			}
		}
		mustRelease(t, a)
		if v := value(t, cl, "a"); v != 0 {
			t.Errorf("value %d before the last release", v)
		}
		if _, err := cl.Acquire(bounded(t), "a", try()); !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("somebody else got a before the commit: %v", err)
		}
		mustRelease(t, mustAcquire(t, cl, "a", owner("me"))) // the owner may have it again
		mustRelease(t, b)
		if va, vb := value(t, cl, "a"), value(t, cl, "b"); va != 5 || vb != 5 {
			t.Errorf("values %d and %d, want 5 and 5", va, vb)
		}
		observe(t, tg).await(0, locked)
	})
}

// An owner that gives up on a second key, or is refused it, keeps the first.
func TestOwnerKeepsTheFirst(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		blocker := mustAcquire(t, cl, "b", options)
		a := mustAcquire(t, cl, "a", owner("me"))
		for range 2 {
			_, err := cl.Acquire(bounded(t), "b", with(func(o *lock.AcquireOptions) { o.Owner, o.Try = "me", true }))
			wantErr(t, err, lock.ErrNotAcquired)
		}
		ctx, leave := context.WithCancel(context.Background())
		trace := lock.NewTrace()
		r := acquiring(lock.WithTrace(ctx, trace), cl, "b", owner("me"))
		if name == "pg-row-nowait" || name == "pg-row-skip" {
			for trace.Attempts() < 2 {
				o.await(0, waiting)
			}
		} else {
			o.await(1, waiting)
		}
		leave()
		wantErr(t, got(t, r).err, context.Canceled)
		mustRelease(t, blocker)
		b := mustAcquire(t, cl, "b", owner("me"))
		want := int64(0)
		if g, ok := a.(lock.Guarded); ok {
			want = 1
			if err := g.Apply(bounded(t), 1); err != nil {
				t.Fatal(err)
			}
		}
		mustRelease(t, b)
		mustRelease(t, a)
		if _, ok := cl.(lock.Valuer); ok && value(t, cl, "a") != want {
			t.Errorf("value %d, want %d", value(t, cl, "a"), want)
		}
		o.await(0, locked)
		o.await(0, inTx)
	})
}

// Several goroutines of one owner take turns; a release waits for its turn.
func TestOwnerInParallel(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl := leaser(t, name, tg)
		for range 10 {
			var rs []<-chan result
			for _, key := range []string{"a", "b", "c", "a"} {
				rs = append(rs, acquiring(bounded(t), cl, key, owner("me")))
			}
			for _, r := range rs {
				x := got(t, r)
				if x.err != nil {
					t.Fatal(x.err)
				}
				go func() { _ = x.lease.Release(context.Background()) }()
			}
		}
		observe(t, tg).await(0, locked)
	})
}

// The end of an owner's session is the end of all that it holds.
func TestOwnerLosesAll(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		a := mustAcquire(t, cl, "a", owner("me"))
		b := mustAcquire(t, cl, "b", owner("me"))
		o.terminate(locked + " AND l.granted")
		awaitLost(t, a)
		awaitLost(t, b)
		again := mustAcquire(t, cl, "a", owner("me"))
		wantErr(t, a.Release(bounded(t)), lock.ErrNotHeld)
		wantErr(t, b.Release(bounded(t)), lock.ErrNotHeld)
		mustRelease(t, again)
	})
}

// Case 33 (npgsql#5592, prom-analytics-proxy#585): an advisory lock that is given to
// a pool with its connection is still held, and whoever gets the connection next
// "acquires" it as well, because the server grants a session what it has already.
func TestCase33(t *testing.T) {
	t.Run("ours", func(t *testing.T) {
		tg := target(t)
		tg.Workers = 1 // a pool of one connection, which must not be the holder's
		cl, o := leaser(t, "pg-advisory", tg), observe(t, tg)
		le := mustAcquire(t, cl, "k", options)
		if _, err := cl.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
			t.Fatalf("two holders through one pool: %v", err)
		}
		// A waiter that leaves, too, gives a connection back that holds nothing.
		ctx, leave := context.WithCancel(context.Background())
		r := acquiring(ctx, cl, "k", options)
		o.await(1, waiting)
		leave()
		wantErr(t, got(t, r).err, context.Canceled)
		mustRelease(t, le)
		o.await(0, locked)
		mustRelease(t, mustAcquire(t, cl, "k", try()))
	})
	// What the pools of those reports did, acted out: not a lock of ours.
	t.Run("theirs", func(t *testing.T) {
		tg := target(t)
		n, err := namesOf(tg.Prefix)
		if err != nil {
			t.Fatal(err)
		}
		p, err := open(bounded(t), tg, n, []*statement{stTryLock, stRollback}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		for range 2 {
			c, err := p.take(bounded(t))
			if err != nil {
				t.Fatal(err)
			}
			c.put(stTryLock, c.int8(n.keyOf("k")))
			if err := c.ask(bounded(t), terms{}); err != nil || !c.yes() {
				t.Fatalf("not granted (%v): the bug is not what it was", err)
			}
			p.give(c) // with the lock
		}
	})
}
