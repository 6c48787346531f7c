package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"lockbench/lock"
)

func TestInfos(t *testing.T) {
	for _, in := range Infos() {
		if err := in.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// One holder at a time, over several clients and workers; each guarded write counts once.
func TestExclusion(t *testing.T) {
	const clients, workers, rounds = 2, 4, 20
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		var holder atomic.Int32
		var plain int // unprotected but by the lock
		var wg sync.WaitGroup
		var last lock.Client
		for c := range clients {
			cl := leaser(t, name, tg)
			last = cl
			for w := range workers {
				id := int32(c*workers + w + 1)
				wg.Go(func() {
					for range rounds {
						le, err := cl.Acquire(bounded(t), "hot", options)
						if err != nil {
							t.Errorf("acquire: %v", err)
							return
						}
						if !holder.CompareAndSwap(0, id) {
							t.Errorf("%d holds it while %d gets it", holder.Load(), id)
						}
						plain++
						if g, ok := le.(lock.Guarded); ok {
							if err := g.Apply(bounded(t), 1); err != nil {
								t.Errorf("apply: %v", err)
							}
						}
						holder.CompareAndSwap(id, 0)
						if err := le.Release(bounded(t)); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
		}
		wg.Wait()
		if want := clients * workers * rounds; plain != want {
			t.Errorf("counter %d, want %d", plain, want)
		} else if _, ok := last.(lock.Valuer); ok && value(t, last, "hot") != int64(want) {
			t.Errorf("value %d, want %d", value(t, last, "hot"), want)
		}
		observe(t, tg).await(0, locked)
	})
}

// What a pair costs: one trip each way for a lock that is free.
func TestTrips(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl := leaser(t, name, tg)
		mustRelease(t, mustAcquire(t, cl, "k", options)) // makes the row
		before := tg.Meter.Commands.Load()
		up, down := lock.NewTrace(), lock.NewTrace()
		le, err := cl.Acquire(lock.WithTrace(bounded(t), up), "k", options)
		if err != nil {
			t.Fatal(err)
		}
		if err := le.Release(lock.WithTrace(bounded(t), down)); err != nil {
			t.Fatal(err)
		}
		if up.Trips() != 1 || down.Trips() != 1 || up.Attempts() != 1 {
			t.Errorf("trips %d and %d, attempts %d; want 1 of each", up.Trips(), down.Trips(), up.Attempts())
		}
		want := int64(3) // BEGIN, SELECT, COMMIT
		if name == "pg-advisory" {
			want = 2
		}
		if have := tg.Meter.Commands.Load() - before; have != want {
			t.Errorf("%d statements, want %d", have, want)
		}
	})
}

// A caller that leaves while it waits in the server leaves nothing behind.
func TestCancelWhileWaiting(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		first := mustAcquire(t, cl, "k", options)
		ctx, leave := context.WithCancel(context.Background())
		trace := lock.NewTrace()
		r := acquiring(lock.WithTrace(ctx, trace), cl, "k", options)
		if name == "pg-row-nowait" || name == "pg-row-skip" {
			for trace.Attempts() < 3 { // it polls
				o.await(0, waiting)
			}
		} else {
			o.await(1, waiting)
		}
		leave()
		err := got(t, r).err
		wantErr(t, err, context.Canceled)
		if !errors.Is(err, lock.ErrUnknown) && !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("error %v says nothing of the lock", err)
		}
		o.await(0, waiting)
		mustRelease(t, first)
		o.await(0, locked)
		o.await(0, inTx)
		mustRelease(t, mustAcquire(t, cl, "k", try()))
	})
}

// A waiter that leaves at the moment at which the holder lets go: whether it was
// granted the lock or not, nobody has it in the end. (A session's advisory lock that is
// granted to a statement that is then cancelled stays: see settle.)
func TestCancelMeetsGrant(t *testing.T) {
	each(t, leasers[:3], func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		for range 30 {
			first := mustAcquire(t, cl, "k", options)
			ctx, leave := context.WithCancel(context.Background())
			r := acquiring(ctx, cl, "k", options)
			o.await(1, waiting)
			leave()
			mustRelease(t, first)
			if x := got(t, r); x.err == nil {
				mustRelease(t, x.lease)
			}
			o.await(0, locked)
		}
	})
}

// A wait that reaches the safety net (lock_timeout) is begun again.
func TestLockTimeout(t *testing.T) {
	short := &statement{"short", "SELECT set_config('lock_timeout', '20ms', false)"}
	tg := target(t)
	tg.Workers = 1
	cl := leaser(t, "pg-advisory", tg)
	n, err := namesOf(tg.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(bounded(t), tg, n, []*statement{stLock, stUnlock, stUnlockAll, stRollback, short}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if err := p.once(bounded(t), func(c *conn) { c.put(short) }, nil); err != nil {
		t.Fatal(err)
	}
	d := newAdvisory(p, n)
	first := mustAcquire(t, cl, "k", options)
	trace := lock.NewTrace()
	done := make(chan error, 1)
	go func() {
		g, err := d.Acquire(lock.WithTrace(bounded(t), trace), "k", options)
		if err == nil {
			err = d.Release(bounded(t), g)
		}
		done <- err
	}()
	for o := observe(t, tg); trace.Trips() < 5; { // request, tidying up, request, ...
		o.count(waiting)
	}
	mustRelease(t, first)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Try makes one attempt.
func TestTry(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		cl := leaser(t, name, target(t))
		first := mustAcquire(t, cl, "k", try())
		trace := lock.NewTrace()
		_, err := cl.Acquire(lock.WithTrace(bounded(t), trace), "k", try())
		wantErr(t, err, lock.ErrNotAcquired)
		if trace.Trips() != 1 || trace.Attempts() != 1 {
			t.Errorf("%d trips, %d attempts; want 1 and 1", trace.Trips(), trace.Attempts())
		}
		mustRelease(t, mustAcquire(t, cl, "other", try()))
		mustRelease(t, first)
		mustRelease(t, mustAcquire(t, cl, "k", try()))
	})
}

// NOWAIT and SKIP LOCKED poll until the holder is gone, with a trip an attempt.
func TestPolls(t *testing.T) {
	each(t, []string{"pg-row-nowait", "pg-row-skip"}, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		first := mustAcquire(t, cl, "k", options)
		trace := lock.NewTrace()
		r := acquiring(lock.WithTrace(bounded(t), trace), cl, "k", options)
		for trace.Attempts() < 3 {
			o.await(0, waiting)
		}
		mustRelease(t, first)
		x := got(t, r)
		if x.err != nil {
			t.Fatal(x.err)
		}
		if trace.Trips() != trace.Attempts() {
			t.Errorf("%d trips for %d attempts", trace.Trips(), trace.Attempts())
		}
		mustRelease(t, x.lease)
	})
}

// A holder whose session the server ends is told, and the next one gets in.
func TestTerminatedBackend(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		holder := mustAcquire(t, cl, "k", options)
		o.terminate(locked)
		awaitLost(t, holder)
		next := mustAcquire(t, cl, "k", options)
		wantErr(t, holder.Release(bounded(t)), lock.ErrNotHeld)
		if _, err := cl.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("the release of a lost lease freed the successor's: %v", err)
		}
		mustRelease(t, next)
		if lost := tg.Meter.Lost.Load(); lost != 1 {
			t.Errorf("%d leases lost, want 1", lost)
		}
	})
}

// One whose session ends and that releases before it is told learns of it then.
func TestReleaseAfterTermination(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		holder := mustAcquire(t, cl, "k", options)
		o.terminate(locked)
		o.await(0, locked)
		err := holder.Release(bounded(t))
		if !errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrUnknown) {
			t.Errorf("release: %v, want not held or unknown", err)
		}
		mustRelease(t, mustAcquire(t, cl, "k", options))
	})
}

// Connections that ended in the pool are replaced without the caller noticing.
func TestStalePool(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		cl, o := leaser(t, name, tg), observe(t, tg)
		o.terminate(anything)
		o.await(0, anything)
		for range 2 * tg.Workers {
			mustRelease(t, mustAcquire(t, cl, "k", options))
		}
	})
}

// A server's policy on idle transactions ends a holder (25P03), who is told.
func TestIdleInTransactionTimeout(t *testing.T) {
	tg := target(t)
	o := observe(t, tg)
	role := quote(tg.User)
	if _, err := o.c.Exec(bounded(t), "ALTER ROLE "+role+" SET idle_in_transaction_session_timeout = '100ms'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := o.c.Exec(context.Background(), "ALTER ROLE "+role+" RESET idle_in_transaction_session_timeout"); err != nil {
			t.Error(err)
		}
	})
	cl := leaser(t, "pg-row", tg)
	le := mustAcquire(t, cl, "k", options)
	awaitLost(t, le)
	wantErr(t, le.Release(bounded(t)), lock.ErrNotHeld)
}
