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

// inline is the fake driver as one that is called on the caller's goroutine.
type inline struct{ *fake }

var _ lease.Inline = inline{}

func (inline) Inline() {}

// TestInlineLeaving is TestLeaving for drivers that are called on the caller's goroutine:
// Acquire returns when the driver does, and what it has won by then is given back.
func TestInlineLeaving(t *testing.T) {
	type hook = func(ctx context.Context, what string, n int) error
	for _, c := range []struct {
		name           string
		taken          bool // somebody else has the lock
		sent, answered hook
		at, returns    float64 // s: when the context ends, and when Acquire returns
		want           error
		orphans        int64
	}{
		{name: "resting between two attempts", taken: true, at: 1, returns: 1, want: lock.ErrNotAcquired},
		{name: "before anything is sent", at: 0, returns: 0, want: lock.ErrNotAcquired},
		{name: "the request is under way", sent: delay("acquire", 3*time.Second), at: 1, returns: 1, want: lock.ErrUnknown},
		{name: "the client is deaf, and the reply is under way", answered: deaf("acquire", 3*time.Second), at: 1, returns: 3, want: lock.ErrUnknown, orphans: 1},
		{name: "the client is deaf, and the lock is taken", taken: true, sent: deaf("acquire", 3*time.Second), at: 1, returns: 3, want: lock.ErrNotAcquired},
		{name: "the grant comes after its own deadline", answered: deaf("acquire", 10*time.Second), at: 1, returns: 10, want: lock.ErrNotAcquired},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				if c.taken {
					f.keys["k"] = entry{1000, time.Now().Add(time.Hour)}
				}
				f.sent, f.answered = c.sent, c.answered
				var m lock.Meter
				cl := newClient(t, inline{f}, &m)
				ctx, cancel := context.WithTimeout(t.Context(), seconds(c.at)[0])
				defer cancel()
				l, err := cl.Acquire(ctx, "k", opts())
				if !errors.Is(err, c.want) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquire: %v, %v; want %v and the context's error", l, err, c.want)
				}
				if got := f.elapsed(); got != seconds(c.returns)[0] {
					t.Errorf("returned at %v, want %vs", got, c.returns)
				}
				cl.Close()
				if !c.taken && !f.free("k") {
					t.Error("something is left on the server")
				}
				if got := m.Orphans.Load(); got != c.orphans {
					t.Errorf("%d orphans, want %d", got, c.orphans)
				}
				f.checkClosed(t)
			})
		})
	}
}

// TestInlineClose: who rests returns at once; what is won while Close waits is given back.
func TestInlineClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answered = func(_ context.Context, what string, n int) error {
			if what == "acquire" && n == 2 { // of the key "b"
				time.Sleep(2 * time.Second)
			}
			return nil
		}
		var m lock.Meter
		c := newClient(t, inline{f}, &m)
		acquire(t, c, "a", opts())
		type ended struct {
			err error
			at  time.Duration
		}
		under, resting := make(chan ended, 1), make(chan ended, 1)
		get := func(key string, to chan ended) {
			_, err := c.Acquire(t.Context(), key, opts())
			to <- ended{err, f.elapsed()}
		}
		go get("b", under)
		synctest.Wait() // its reply is under way
		go get("a", resting)
		synctest.Wait()
		at := f.elapsed()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if e := <-resting; !errors.Is(e.err, lease.ErrClosed) || !errors.Is(e.err, lock.ErrNotAcquired) || e.at != at {
			t.Errorf("the one that rested: %v at %v, want at once, at %v", e.err, e.at, at)
		}
		if e := <-under; !errors.Is(e.err, lease.ErrClosed) || !errors.Is(e.err, lock.ErrUnknown) || e.at != at+2*time.Second {
			t.Errorf("the one whose reply was under way: %v at %v", e.err, e.at)
		}
		if !f.free("b") || m.Orphans.Load() != 1 {
			t.Errorf("the late grant: free %v, orphans %d", f.free("b"), m.Orphans.Load())
		}
		f.checkClosed(t)
	})
}

// TestInlineRelease: it returns when the driver does, and says that the context has ended.
func TestInlineRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, inline{f}, nil)
		l := acquire(t, c, "k", opts())
		f.sent = delay("release", time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, lock.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("release: %v", err)
		}
		if got := f.elapsed(); got != time.Second {
			t.Errorf("returned at %v", got)
		}
	})
}

// TestInlineGoesOn: renewal, loss, tokens and owners are those of every driver.
func TestInlineGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var m lock.Meter
		c := newClient(t, inline{f}, &m)
		l := acquire(t, c, "k", opts())
		time.Sleep(20 * time.Second)
		if isLost(l) || m.Renewals.Load() < 5 {
			t.Errorf("lost: %v, %d renewals", isLost(l), m.Renewals.Load())
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		o := opts()
		o.Renew, o.Owner = false, "o"
		a, b := acquire(t, c, "k", o), acquire(t, c, "k", o)
		<-b.Lost()
		if got := f.deadline(t, a); got != f.elapsed() {
			t.Errorf("told at %v, its deadline is %v", f.elapsed(), got)
		}
		if err := a.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("release: %v", err)
		}
	})
}

// TestLostIsAskedLate: nothing wakes a holder who does not ask; whoever asks after the
// deadline, or after the release, is told what was so.
func TestLostIsAskedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, newFake(), nil)
		o := opts()
		o.Renew = false
		l := acquire(t, c, "k", o)
		time.Sleep(o.TTL)
		if !isLost(l) {
			t.Error("not lost at its deadline")
		}
		l = acquire(t, c, "k", o)
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * o.TTL)
		if isLost(l) {
			t.Error("lost after its release")
		}
		k := lease.Session()
		k.Lose()
		select {
		case <-k.Lost():
		default:
			t.Error("a session that was lost before anybody asked")
		}
	})
}
