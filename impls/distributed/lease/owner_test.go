package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/lock"
)

func owned(name string) lock.AcquireOptions {
	o := opts()
	o.Owner = name
	return o
}

// TestReentrant: counted, the same token, one request; freed by as many
// releases, in any order.
func TestReentrant(t *testing.T) {
	for _, order := range [][]int{{2, 1, 0}, {0, 1, 2}, {1, 0, 2}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := newClient(t, f, nil)
			var ls []lock.Lease
			for range 3 {
				ls = append(ls, acquire(t, c, "k", owned("me")))
			}
			if n := len(f.at("acquire")); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			first, _ := ls[0].Token()
			for _, l := range ls {
				if tok, ok := l.Token(); !ok || tok != first {
					t.Errorf("token %d, want %d", tok, first)
				}
			}
			time.Sleep(time.Minute) // renewed
			o := owned("you")
			o.Try = true
			for i, n := range order {
				if l, err := c.Acquire(t.Context(), "k", o); err == nil {
					t.Fatalf("another owner got it after %d releases: %v", i, l)
				}
				if err := ls[n].Release(t.Context()); err != nil {
					t.Errorf("release %d: %v", n, err)
				}
				if err := ls[n].Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
					t.Errorf("release %d again: %v", n, err)
				}
			}
			l := acquire(t, c, "k", o)
			if tok, _ := l.Token(); tok <= first {
				t.Errorf("token %d after %d", tok, first)
			}
			l.Release(t.Context())
			before := len(f.at("renew"))
			time.Sleep(time.Minute)
			if len(f.at("renew")) != before {
				t.Error("renewed after the last release")
			}
			c.Close()
		})
	}
}

// TestOwnersAreApart: other keys, other owners and no owner at all.
func TestOwnersAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		l := acquire(t, c, "a", owned("me"))
		acquire(t, c, "b", owned("me")).Release(t.Context())
		for _, o := range []lock.AcquireOptions{owned("you"), opts()} {
			o.Try = true
			if _, err := c.Acquire(t.Context(), "a", o); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("owner %q got in: %v", o.Owner, err)
			}
		}
		if f.free("a") || !f.free("b") {
			t.Error("the release of b is not that of a")
		}
		l.Release(t.Context())
		c.Close()
	})
}

// TestLostIsNotReentered: the owner asks anew, and its old leases stay lost.
func TestLostIsNotReentered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		o := owned("me")
		o.Renew = false
		old, again := acquire(t, c, "k", o), acquire(t, c, "k", o)
		time.Sleep(o.TTL)
		l := acquire(t, c, "k", o)
		t1, _ := old.Token()
		if t2, _ := l.Token(); t2 <= t1 || len(f.at("acquire")) != 2 {
			t.Errorf("token %d after %d, %d requests", t2, t1, len(f.at("acquire")))
		}
		for _, l := range []lock.Lease{old, again} {
			if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
				t.Errorf("release of a lost lease: %v", err)
			}
		}
		if f.free("k") {
			t.Error("the old leases' releases freed the new one")
		}
		if err := acquire(t, c, "k", o).Release(t.Context()); err != nil { // reentered
			t.Error(err)
		}
		if err := l.Release(t.Context()); err != nil || !f.free("k") {
			t.Errorf("release: %v, free: %v", err, f.free("k"))
		}
		c.Close()
	})
}

// TestOwnerArrivesTwice: two acquisitions of one owner at a time. The second
// waits for the first, and takes its place if that gives up.
func TestOwnerArrivesTwice(t *testing.T) {
	for _, gives := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			c := newClient(t, f, nil)
			other := acquire(t, c, "k", opts())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			type result struct {
				l   lock.Lease
				err error
			}
			first, second := make(chan result, 1), make(chan result, 1)
			go func() { l, err := c.Acquire(ctx, "k", owned("me")); first <- result{l, err} }()
			synctest.Wait()
			go func() { l, err := c.Acquire(t.Context(), "k", owned("me")); second <- result{l, err} }()
			synctest.Wait()

			try := owned("me")
			try.Try = true
			if _, err := c.Acquire(t.Context(), "k", try); !errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("try while another is under way: %v", err)
			}
			leaving, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer leave()
			if _, err := c.Acquire(leaving, "k", owned("me")); !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("leaving while another is under way: %v", err)
			}

			if gives {
				cancel()
				if r := <-first; r.err == nil {
					t.Fatal("the first has left and got it")
				}
			}
			if err := other.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			r2 := <-second
			if r2.err != nil {
				t.Fatal(r2.err)
			}
			if !gives {
				r1 := <-first
				if r1.err != nil {
					t.Fatal(r1.err)
				}
				if a, _ := r1.l.Token(); a != 2 {
					t.Errorf("token %d", a)
				}
				if err := r1.l.Release(t.Context()); err != nil || f.free("k") {
					t.Errorf("release of one of two: %v, free %v", err, f.free("k"))
				}
			}
			if err := r2.l.Release(t.Context()); err != nil || !f.free("k") {
				t.Errorf("last release: %v, free %v", err, f.free("k"))
			}
			c.Close()
			f.checkClosed(t)
		})
	}
}
