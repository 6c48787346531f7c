package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/lock"
)

// TestLeaving: the caller's context ends. Acquire returns at once, says what is
// sure, and what comes late is given back.
func TestLeaving(t *testing.T) {
	type hook = func(ctx context.Context, what string, n int) error
	for _, c := range []struct {
		name           string
		taken          bool // somebody else has the lock
		sent, answered hook
		at             float64 // s, when the context ends
		want           error
		orphans        int64
	}{
		{name: "resting between two attempts", taken: true, at: 1, want: lock.ErrNotAcquired},
		{name: "before anything is sent", at: 0, want: lock.ErrNotAcquired},
		{name: "the request is under way", sent: delay("acquire", 3*time.Second), at: 1, want: lock.ErrUnknown},
		{name: "the reply is under way", answered: deaf("acquire", 3*time.Second), at: 1, want: lock.ErrUnknown, orphans: 1},
		{name: "the client is deaf, and the request is under way", sent: deaf("acquire", 3*time.Second), at: 1, want: lock.ErrUnknown, orphans: 1},
		{name: "the client is deaf, and the lock is taken", taken: true, sent: deaf("acquire", 3*time.Second), at: 1, want: lock.ErrUnknown},
		{name: "the grant comes after its own deadline", answered: deaf("acquire", 10*time.Second), at: 1, want: lock.ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				if c.taken {
					f.keys["k"] = entry{1000, time.Now().Add(time.Hour)}
				}
				f.sent, f.answered = c.sent, c.answered
				var m lock.Meter
				cl := newClient(t, f, &m)
				ctx, cancel := context.WithTimeout(t.Context(), seconds(c.at)[0])
				defer cancel()
				l, err := cl.Acquire(ctx, "k", opts())
				if !errors.Is(err, c.want) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquire: %v, %v; want %v and the context's error", l, err, c.want)
				}
				if got := f.elapsed(); got != seconds(c.at)[0] {
					t.Errorf("returned at %v, want at once, at %vs", got, c.at)
				}
				time.Sleep(time.Minute)
				n := len(f.at("acquire"))
				if !c.taken && !f.free("k") {
					t.Error("something is left on the server")
				}
				if got := m.Orphans.Load(); got != c.orphans {
					t.Errorf("%d orphans, want %d", got, c.orphans)
				}
				time.Sleep(time.Minute)
				if len(f.at("acquire")) != n {
					t.Error("it goes on trying")
				}
				cl.Close()
				f.checkClosed(t)
			})
		})
	}
}

// TestOrphanThatCannotBeGivenBack: giving back fails; the caller has left long ago,
// and the TTL does the rest.
func TestOrphanThatCannotBeGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answered = deaf("acquire", 3*time.Second)
		f.sent = delay("release", time.Hour) // until its context ends
		var m lock.Meter
		c := newClient(t, f, &m)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Acquire(ctx, "k", opts()); !errors.Is(err, lock.ErrUnknown) {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		if f.free("k") {
			t.Error("free before its TTL is over")
		}
		time.Sleep(10 * time.Second)
		if !f.free("k") || m.Orphans.Load() != 1 {
			t.Errorf("free: %v, orphans %d", f.free("k"), m.Orphans.Load())
		}
		c.Close() // the release ended with its own time-out: nothing to wait for
	})
}

func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		o := opts()
		o.Try = true
		l := acquire(t, c, "k", o)
		if _, err := c.Acquire(t.Context(), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
			t.Errorf("try of a taken lock: %v", err)
		}
		if n := len(f.at("acquire")); n != 2 || f.elapsed() != 0 {
			t.Errorf("%d requests in %v, want 2 and no wait", n, f.elapsed())
		}
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
		acquire(t, c, "k", o).Release(t.Context())
		c.Close()
	})
}

// TestTokens: they grow with each grant, whoever gets it and however it ended.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		a, b := newClient(t, f, nil), newClient(t, f, nil)
		o := opts()
		o.Renew = false
		last := uint64(0)
		for i := range 6 {
			l := acquire(t, []lock.Leaser{a, b}[i%2], "k", o)
			tok, ok := l.Token()
			if !ok || tok <= last {
				t.Fatalf("grant %d: token %d, %v after %d", i, tok, ok, last)
			}
			last = tok
			if i%3 == 0 { // this one ends with its TTL
				<-l.Lost()
			}
			l.Release(t.Context())
		}
		o.Fence = false
		if tok, ok := acquire(t, a, "k", o).Token(); ok {
			t.Errorf("token %d, and none was asked for", tok)
		}
		a.Close()
	})
}

// TestReleaseEnds: twice, after the loss, and what the successor sees of it.
func TestReleaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var m lock.Meter
		c := newClient(t, f, &m)
		o := opts()
		o.Renew = false
		l := acquire(t, c, "k", o)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		next := acquire(t, c, "k", o)
		if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("second release: %v", err)
		}
		if f.free("k") {
			t.Error("the second release freed the successor")
		}
		<-next.Lost()
		third := acquire(t, c, "k", o)
		if err := next.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) || f.free("k") {
			t.Errorf("release of a lost lease: %v; the successor's is gone: %v", err, f.free("k"))
		}
		if m.Lost.Load() != 1 {
			t.Errorf("%d counted as lost, want 1", m.Lost.Load())
		}
		f.mu.Lock()
		delete(f.keys, "k") // lost at the service, and the client does not know
		f.mu.Unlock()
		if err := third.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) || m.Lost.Load() != 2 {
			t.Errorf("release: %v; %d counted as lost, want 2", err, m.Lost.Load())
		}
		c.Close()
	})
}

// TestReleaseHangs: its caller leaves, the request goes on, within its TTL.
func TestReleaseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.answered = deaf("release", 2*time.Second)
		c := newClient(t, f, nil)
		l := acquire(t, c, "k", opts())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Release(ctx); !errors.Is(err, lock.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("release: %v", err)
		}
		if got := f.elapsed(); got != time.Second {
			t.Errorf("returned at %v", got)
		}
		c.Close()
		if got := f.elapsed(); got != 2*time.Second {
			t.Errorf("closed at %v, want when the release had its answer", got)
		}
		f.checkClosed(t)
	})
}
