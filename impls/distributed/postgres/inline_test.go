package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// The calls of the kit come on the caller's goroutine. These tests hold what the server
// answers: a call that waited for it would not return.

func orphans(t *testing.T, m *lock.Meter, want int64) {
	t.Helper()
	for end := time.Now().Add(guard); m.Orphans.Load() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("orphans: got %d, want %d", m.Orphans.Load(), want)
		}
	}
}

// An owner who leaves while the reply to a second request is held keeps his first
// lock. The second, if it is granted late, does not stay.
func TestLateGrantOfOwner(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, other := leaser(t, name, tg), leaser(t, name, direct)
		mustRelease(t, mustAcquire(t, cl, "b", options)) // its row is there
		a := mustAcquire(t, cl, "a", owner("o"))
		p.HoldReplies(true)
		ctx, leave := context.WithCancel(context.Background())
		r := acquiring(ctx, cl, "b", owner("o"))
		p.AwaitHeld(1)
		leave()
		wantErr(t, got(t, r).err, context.Canceled, lock.ErrUnknown)
		p.HoldReplies(false)
		mustRelease(t, mustAcquire(t, other, "b", options))
		orphans(t, tg.Meter, 1)
		if _, err := other.Acquire(bounded(t), "a", try()); !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("the owner's first lock: got %v, want it to be held", err)
		}
		mustRelease(t, a)
		mustRelease(t, mustAcquire(t, other, "a", options))
	})
}

// A releaser leaves, before or while the reply is held. The release is done.
func TestReleaseReturnsAtOnce(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, o := leaser(t, name, tg), observe(t, direct)
		other := dial(t, name, direct)
		writes := int64(0)
		for _, before := range []bool{true, false} {
			le := mustAcquire(t, cl, "k", options)
			if g, ok := le.(lock.Guarded); ok {
				if err := g.Apply(bounded(t), 1); err != nil {
					t.Fatal(err)
				}
				writes++
			}
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			p.HoldReplies(true)
			if before {
				leave()
			}
			done := make(chan error, 1)
			go func() { done <- le.Release(ctx) }()
			if !before {
				p.AwaitHeld(1)
				leave()
			}
			wantErr(t, <-done, context.Canceled, lock.ErrUnknown)
			p.HoldReplies(false)
			o.await(0, locked)
			mustRelease(t, mustAcquire(t, other.(lock.Leaser), "k", options))
			if _, ok := other.(lock.Valuer); ok && value(t, other, "k") != writes {
				t.Errorf("value %d, want %d", value(t, other, "k"), writes)
			}
		}
		orphans(t, tg.Meter, 0)
	})
}

// A releaser who does not leave returns after the TTL, without a reply.
func TestReleaseIsBounded(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		p, tg, direct := proxied(t)
		cl, o := leaser(t, name, tg), observe(t, direct)
		le := mustAcquire(t, cl, "k", options)
		p.HoldReplies(true)
		wantErr(t, le.Release(context.Background()), lock.ErrUnknown, errBound)
		p.HoldReplies(false)
		o.await(0, locked)
	})
}

// Close ends those who wait in the server, and their waiting.
func TestCloseEndsWaiters(t *testing.T) {
	each(t, leasers, func(t *testing.T, name string) {
		tg := target(t)
		holder, cl := leaser(t, name, tg), leaser(t, name, tg)
		le, o := mustAcquire(t, holder, "k", options), observe(t, tg)
		r := acquiring(context.Background(), cl, "k", options)
		if name != "pg-row-nowait" && name != "pg-row-skip" {
			o.await(1, waiting)
		}
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
		wantErr(t, got(t, r).err, lease.ErrClosed)
		o.await(0, waiting)
		mustRelease(t, le)
	})
}

// A caller is woken once, for whatever reason, and the next one on the same connection is not.
func TestWakesAreNotLeft(t *testing.T) {
	each(t, []string{"pg-advisory", "pg-row"}, func(t *testing.T, name string) {
		tg := target(t)
		tg.Workers = 1
		cl := leaser(t, name, tg)
		for i := range 300 {
			ctx, leave := context.WithCancel(context.Background())
			go leave()
			le, err := cl.Acquire(ctx, "k", options)
			if err == nil {
				err = le.Release(ctx)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("round %d: %v", i, err)
			}
			mustRelease(t, mustAcquire(t, cl, "k", options))
		}
	})
}
