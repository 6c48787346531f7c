package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/lock"
)

// fakeRig is a process on a fake lock with fake stores. Within a bubble all times are exact.
func fakeRig(t *testing.T, f *fake, s *fakeStores) *rig {
	t.Helper()
	r := start(t, f.info(), "", s)
	r.dial("nowhere")
	return r
}

// grants makes a client that grants these leases, in order.
func grants(leases ...lock.Lease) *fake {
	next := make(chan lock.Lease, len(leases))
	for _, l := range leases {
		next <- l
	}
	return &fake{acquire: func(ctx context.Context, _ lock.AcquireOptions) (lock.Lease, error) {
		select {
		case l := <-next:
			return l, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("acquire: %w: %w", lock.ErrNotAcquired, ctx.Err())
		}
	}}
}

// A careful holder writes until its local deadline, less the margin, and not after; a renewal
// puts that off. A lease without a deadline ends when it is lost.
func TestCarefulLeaves(t *testing.T) {
	for _, x := range []struct {
		name          string
		until         time.Duration // 0: no deadline
		margin        time.Duration
		renewAt, to   time.Duration // 0: no renewal
		lostAt        time.Duration // 0: not lost
		every         time.Duration
		left          time.Duration
		writes        int
		lost, renewed int
		why           string
	}{
		{name: "deadline", until: 95 * time.Millisecond, every: 10 * time.Millisecond, left: 95 * time.Millisecond, writes: 10, why: "its deadline"},
		{name: "deadline is when a write is due", until: 90 * time.Millisecond, every: 10 * time.Millisecond, left: 90 * time.Millisecond, writes: 9, why: "its deadline"},
		{name: "margin", until: 95 * time.Millisecond, margin: 20 * time.Millisecond, every: 10 * time.Millisecond, left: 75 * time.Millisecond, writes: 8, why: "its deadline"},
		{name: "long pause", until: 95 * time.Millisecond, every: time.Hour, left: 95 * time.Millisecond, writes: 1, why: "its deadline"},
		{name: "renewed", until: 95 * time.Millisecond, renewAt: 50 * time.Millisecond, to: 145 * time.Millisecond, every: 10 * time.Millisecond,
			left: 145 * time.Millisecond, writes: 15, renewed: 1, why: "its deadline"},
		{name: "renewed in a long pause", until: 95 * time.Millisecond, renewAt: 50 * time.Millisecond, to: 145 * time.Millisecond, every: time.Hour,
			left: 145 * time.Millisecond, writes: 1, renewed: 1, why: "its deadline"},
		{name: "lost", lostAt: 33 * time.Millisecond, every: 10 * time.Millisecond, left: 33 * time.Millisecond, writes: 4, lost: 1, why: "the lock said so"},
		{name: "lost before its deadline", until: time.Hour, lostAt: 33 * time.Millisecond, every: time.Hour, left: 33 * time.Millisecond, writes: 1, lost: 1, why: "the lock said so"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				l := newLease(time.Time{})
				if x.until > 0 {
					l.extend(began.Add(x.until))
				}
				stores := &fakeStores{}
				r := fakeRig(t, grants(l), stores)
				c := acquire(0)
				c.Options.TTL = 100 * time.Millisecond // which says how often its deadline is looked at
				g, _ := r.enter(c)
				if x.until > 0 && g.OwnTTLNS != int64(x.until) || x.until == 0 && (g.UntilNS != 0 || g.OwnTTLNS != 0) {
					t.Errorf("granted: got %+v, want %v", g, x.until)
				}
				if x.renewAt > 0 {
					time.AfterFunc(x.renewAt, func() { l.extend(began.Add(x.to)) })
				}
				if x.lostAt > 0 {
					time.AfterFunc(x.lostAt, func() { close(l.lost) })
				}
				c = work(0, Careful)
				c.EveryNS, c.MarginNS = int64(x.every), int64(x.margin)
				id := r.do(c)
				stopped := r.awaitID(id, EvStopped)
				if got := time.Since(began); got != x.left || stopped.Class != StopLost || stopped.Text != x.why {
					t.Errorf("after %v: got %+v, want %s after %v", got, stopped, x.why, x.left)
				}
				if left := r.awaitID(id, EvLeft); left.AtNS-g.AtNS != int64(x.left) {
					t.Errorf("left after %v, want %v", time.Duration(left.AtNS-g.AtNS), x.left)
				}
				if n := r.count(EvWrote); n != x.writes || len(stores.writes) != n {
					t.Errorf("%d writes told, %d made, want %d", n, len(stores.writes), x.writes)
				}
				synctest.Wait()
				if l, n := r.count(EvLost), r.count(EvRenewed); l != x.lost || n != x.renewed {
					t.Errorf("lost told %d times, renewed %d, want %d and %d", l, n, x.lost, x.renewed)
				}
			})
		})
	}
}

// The watch goes on while its actor stands at a point, and ends with the release.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(time.Now().Add(time.Minute))
		l.released = []error{nil}
		r := fakeRig(t, grants(l), &fakeStores{})
		g, _ := r.enter(acquire(0))
		c := work(0, Careful)
		c.Point = PointAcquired
		id := r.do(c)
		r.awaitID(id, EvPoint)
		l.extend(time.Now().Add(2 * time.Minute))
		if e := r.awaitID(g.ID, EvRenewed); e.UntilNS <= g.UntilNS {
			t.Errorf("renewed: got %+v after %+v", e, g)
		}
		close(l.lost)
		r.awaitID(g.ID, EvLost)
		r.do(Command{Do: DoGo})
		if e := r.awaitID(id, EvStopped); e.Class != StopLost || r.count(EvWrote) != 0 {
			t.Errorf("stopped: got %+v after %d writes", e, r.count(EvWrote))
		}
		id = r.do(Command{Do: DoRelease})
		r.awaitID(id, EvReleased)
		l.extend(time.Now().Add(time.Hour))
		time.Sleep(time.Hour)
		if r.count(EvRenewed) != 1 || r.count(EvLost) != 1 {
			t.Errorf("%d renewals and %d losses told, want one of each", r.count(EvRenewed), r.count(EvLost))
		}
	})
}

// A protected write is told with its class, goes on after an unknown one, and ends when the lease is gone.
func TestProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fakeGuarded{newLease(time.Now())} // over already: nothing is checked
		answers := []error{nil, fmt.Errorf("no reply: %w", lock.ErrUnknown), nil, fmt.Errorf("gone: %w", lock.ErrNotHeld)}
		l.apply = func(n int) error { return answers[n-1] }
		f := grants(l)
		r := fakeRig(t, f, nil)
		c := acquire(0)
		c.Silent = true
		r.enter(c)
		c = work(0, Protected)
		c.Point = PointWrite
		id := r.do(c)
		r.awaitID(id, EvPoint)
		r.do(Command{Do: DoGo})
		if e := r.awaitID(id, EvStopped); e.Class != ClassNotHeld {
			t.Errorf("stopped: got %+v", e)
		}
		r.awaitID(id, EvLeft)
		var got []string
		for _, e := range r.log {
			if e.Ev == EvWrote {
				got = append(got, e.Class)
			}
		}
		if want := []string{"", ClassUnknown, "", ClassNotHeld}; !slices.Equal(got, want) {
			t.Errorf("writes: got %q, want %q", got, want)
		}
		f.value = 2
		if e := r.awaitID(r.do(Command{Do: DoValue, Key: "k"}), EvValue); e.Value != 2 {
			t.Errorf("value: got %+v", e)
		}
	})
}

// Releases are classed, bounded, and may be repeated; the claim is given up once.
func TestReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(time.Time{})
		l.released = []error{errors.New("odd"), fmt.Errorf("gone: %w", lock.ErrNotHeld)}
		r := fakeRig(t, grants(l), &fakeStores{})
		r.enter(acquire(0))
		for i, want := range []struct {
			limit, took time.Duration
			class       string
		}{
			{0, 0, ClassError}, {0, 0, ClassNotHeld}, {0, CallLimit, ClassUnknown}, {50 * time.Millisecond, 50 * time.Millisecond, ClassUnknown},
		} {
			id := r.do(Command{Do: DoRelease, LimitNS: int64(want.limit)})
			e := r.awaitID(id, EvReleased)
			if took := time.Duration(e.AtNS - e.CalledNS); e.Class != want.class || took != want.took || e.Text == "" {
				t.Errorf("release %d: got %+v after %v, want %q after %v", i, e, took, want.class, want.took)
			}
		}
		if n := r.count(EvLeft); n != 1 || r.arena.Busy(0) {
			t.Errorf("left %d times, busy %v", n, r.arena.Busy(0))
		}
	})
}

// A key is prepared once a connection, before the lock is asked; if it cannot be, the lock is not asked.
func TestPrepare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(time.Time{})
		l.released = []error{nil}
		f := grants(l, newLease(time.Time{}), newLease(time.Time{}))
		broken := true
		f.prepare = func(string) error {
			if broken {
				return errors.New("no such table")
			}
			return nil
		}
		r := fakeRig(t, f, &fakeStores{})
		if e := r.awaitID(r.do(acquire(0)), EvFailed, EvRequested); e.Ev != EvFailed || e.Class != ClassError {
			t.Errorf("unprepared: got %+v", e)
		}
		f.mu.Lock()
		broken = false
		f.mu.Unlock()
		r.enter(acquire(0))
		r.awaitID(r.do(Command{Do: DoRelease}), EvReleased)
		r.enter(acquire(0))
		r.do(Command{Do: DoHangup})
		r.await(0, EvClosed)
		r.dial("nowhere")
		r.enter(acquire(0))
		if want := []string{"k", "k", "k"}; !slices.Equal(f.prepared, want) {
			t.Errorf("prepared %q, want %q: once in vain, and once a connection", f.prepared, want)
		}
	})
}

// Stores that do not answer are told, and the actor goes on.
func TestStoresFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stores := &fakeStores{err: errors.New("gone")}
		r := fakeRig(t, grants(newLease(time.Time{})), stores)
		if _, e := r.enter(acquire(0)); e.Class != ClassError || e.Text != "gone" {
			t.Errorf("entered: got %+v", e)
		}
		id := r.do(work(0, Careless))
		if e := r.awaitID(id, EvWrote); e.Class != ClassError || e.Unfenced != nil || e.Fenced != nil {
			t.Errorf("wrote: got %+v", e)
		}
		r.do(Command{Do: DoFinish})
		r.awaitID(id, EvStopped)
	})
}

// What closing a client says is told. A lock without values has none to ask for.
func TestCloseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := grants()
		f.close = func() error { return errors.New("odd") }
		r := fakeRig(t, f, &fakeStores{})
		if e := r.awaitID(r.do(Command{Do: DoHangup}), EvClosed); e.Class != ClassError || e.Text != "odd" {
			t.Errorf("closed: got %+v", e)
		}
	})
	r := start(t, control(t, "null-lease"), "", nil)
	r.dial("nowhere")
	if e := r.awaitID(r.do(Command{Do: DoValue, Key: "k"}), EvFailed, EvValue); e.Class != ClassUnsupported {
		t.Errorf("value: got %+v", e)
	}
}
