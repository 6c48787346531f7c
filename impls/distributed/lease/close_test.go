package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

// TestCloseEndsAcquisitions: they return at once, resting or not.
func TestCloseEndsAcquisitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answered = func(ctx context.Context, what string, n int) error {
			if what == "acquire" && n == 2 { // of the key "b"
				time.Sleep(2 * time.Second)
			}
			return nil
		}
		var m lock.Meter
		c := newClient(t, f, &m)
		l := acquire(t, c, "a", opts())
		errs := make(chan error, 2)
		go func() { _, err := c.Acquire(t.Context(), "b", opts()); errs <- err }()
		synctest.Wait() // its reply is under way
		go func() { _, err := c.Acquire(t.Context(), "a", opts()); errs <- err }()
		synctest.Wait() // it rests
		at := f.elapsed()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		e1, e2 := <-errs, <-errs
		if !errors.Is(e1, lease.ErrClosed) || !errors.Is(e2, lease.ErrClosed) || f.elapsed() != at {
			t.Errorf("acquisitions ended with %v and %v, %v after Close", e1, e2, f.elapsed()-at)
		}
		if errors.Is(e1, lock.ErrUnknown) == errors.Is(e2, lock.ErrUnknown) {
			t.Errorf("%v and %v: want one unknown, the one whose reply was under way", e1, e2)
		}
		if err := <-closed; err != nil || f.elapsed()-at != 2*time.Second {
			t.Errorf("close: %v after %v", err, f.elapsed()-at)
		}
		if !f.free("b") || m.Orphans.Load() != 1 {
			t.Errorf("the late grant: free %v, orphans %d", f.free("b"), m.Orphans.Load())
		}
		_ = l
		f.checkClosed(t)
		time.Sleep(time.Minute)
		f.checkClosed(t)
	})
}

// TestCloseWithLease: a lease held at Close is not renewed, lasts to its
// deadline, and is then lost. Nothing is sent any more.
func TestCloseWithLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		l := acquire(t, c, "k", opts())
		time.Sleep(2500 * time.Millisecond)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
		if isLost(l) {
			t.Error("lost at once")
		}
		<-l.Lost()
		if got := f.elapsed(); got != 8*time.Second { // renewed at 2 s
			t.Errorf("lost at %v", got)
		}
		if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("release: %v", err)
		}
		if _, err := c.Acquire(t.Context(), "k", opts()); !errors.Is(err, lease.ErrClosed) || !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("acquire: %v", err)
		}
		f.checkClosed(t)
	})
}

func TestReleaseAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		l := acquire(t, c, "k", opts())
		c.Close()
		if err := l.Release(t.Context()); !errors.Is(err, lock.ErrUnknown) || !errors.Is(err, lease.ErrClosed) {
			t.Errorf("release: %v", err)
		}
		f.checkClosed(t)
	})
}

// TestCloseDuringRenewal: the renewal is told to end.
func TestCloseDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.sent = delay("renew", time.Hour)
		c := newClient(t, f, nil)
		acquire(t, c, "k", opts())
		time.Sleep(2100 * time.Millisecond)
		c.Close()
		if got := f.elapsed(); got != 2100*time.Millisecond {
			t.Errorf("closed at %v", got)
		}
		time.Sleep(time.Minute)
		f.checkClosed(t)
	})
}

// TestCloseDoesNotHang: a driver that never answers keeps Close for some seconds only.
func TestCloseDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answered = deaf("acquire", time.Hour)
		c := newClient(t, f, nil)
		go c.Acquire(t.Context(), "k", opts())
		synctest.Wait()
		c.Close()
		if got := f.elapsed(); got < time.Second || got > 10*time.Second {
			t.Errorf("closed at %v", got)
		}
		time.Sleep(2 * time.Hour) // what is left ends
	})
}
