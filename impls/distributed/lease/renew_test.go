package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/impls/distributed/lease"
	"lockbench/lock"
)

var errAway = errors.New("the server is away")

// TestRenewal: when renewals are sent, what the deadline is, and when the lease
// is lost; T = 6 s.
func TestRenewal(t *testing.T) {
	type hook = func(ctx context.Context, what string, n int) error
	failing := func(last int) hook {
		return func(_ context.Context, what string, n int) error {
			if what == "renew" && n <= last {
				return errAway
			}
			return nil
		}
	}
	hanging := func(obeys bool, from, to int) hook {
		return func(ctx context.Context, what string, n int) error {
			switch {
			case what != "renew" || n < from || n > to:
				return nil
			case obeys:
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(30 * time.Second)
			return nil
		}
	}
	for _, c := range []struct {
		name     string
		sent     hook
		answered hook
		noRenew  bool
		until    float64   // when the test looks, s
		renewals []float64 // sent at, s
		deadline float64
		lost     bool
	}{
		{name: "all succeed", until: 9, renewals: []float64{2, 4, 6, 8}, deadline: 14},
		{name: "no renewal asked for", noRenew: true, until: 5.9, deadline: 6},
		{name: "no renewal asked for, and its deadline passes", noRenew: true, until: 6, deadline: 6, lost: true},
		{name: "one fails", sent: failing(1), until: 4.5, renewals: []float64{2, 3}, deadline: 9},
		{name: "three fail, the last chance succeeds", sent: failing(3), until: 8, renewals: []float64{2, 3, 4, 5, 7}, deadline: 13},
		{name: "all fail", sent: failing(100), until: 5.9, renewals: []float64{2, 3, 4, 5}, deadline: 6},
		{name: "all fail, and the deadline passes", sent: failing(100), until: 6, renewals: []float64{2, 3, 4, 5}, deadline: 6, lost: true},
		{name: "the first hangs and ends with its context", sent: hanging(true, 1, 1), until: 4.5, renewals: []float64{2, 3}, deadline: 9},
		{name: "the first hangs and is deaf", sent: hanging(false, 1, 1), until: 4.5, renewals: []float64{2, 3}, deadline: 9},
		{name: "all hang and end with their contexts", sent: hanging(true, 1, 100), until: 6, renewals: []float64{2, 3, 4, 5}, deadline: 6, lost: true},
		{name: "all hang and are deaf", sent: hanging(false, 1, 100), until: 6, renewals: []float64{2, 3, 4, 5}, deadline: 6, lost: true},
		// The deadline counts from when the request was sent, not from its reply.
		{name: "slow acquisition", answered: delay("acquire", 1*time.Second), until: 1.5, deadline: 6},
		{name: "slow replies of renewals", answered: delay("renew", 900*time.Millisecond), until: 5.5, renewals: []float64{2, 4}, deadline: 10},
		{name: "slow requests of renewals", sent: delay("renew", 900*time.Millisecond), until: 5.5, renewals: []float64{2, 4}, deadline: 10},
		// Replies of a deaf client that come after their turn are successes all the same: those of 2, 3, 4
		// come at 3.5, 4.5, 5.5. The one of 2 arranges the next at 2 + T/3.
		{name: "replies slower than T/6", answered: deaf("renew", 1500*time.Millisecond), until: 3.7, renewals: []float64{2, 3}, deadline: 8},
		// Lost is final, though the service has extended the lease: nobody was told so in time.
		{name: "replies slower than the deadline", answered: deaf("renew", 10*time.Second), until: 25, renewals: []float64{2, 3, 4, 5}, deadline: 6, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.sent, f.answered = c.sent, c.answered
				var m lock.Meter
				cl := newClient(t, f, &m)
				o := opts()
				o.Renew = !c.noRenew
				l := acquire(t, cl, "k", o)
				time.Sleep(seconds(c.until)[0] - f.elapsed())
				synctest.Wait()
				if got, want := f.at("renew"), seconds(c.renewals...); !slices.Equal(got, want) {
					t.Errorf("renewals sent at %v, want %v", got, want)
				}
				if got, want := f.deadline(t, l), seconds(c.deadline)[0]; got != want {
					t.Errorf("deadline at %v, want %v", got, want)
				}
				if got := isLost(l); got != c.lost {
					t.Errorf("lost: %v, want %v", got, c.lost)
				}
				if err := l.Release(t.Context()); errors.Is(err, lock.ErrNotHeld) != c.lost {
					t.Errorf("release: %v, lost: %v", err, c.lost)
				}
				if got := m.Lost.Load() == 1; got != c.lost {
					t.Errorf("counted as lost: %v, want %v", got, c.lost)
				}
				time.Sleep(time.Minute) // deaf renewals end
				cl.Close()
				f.checkClosed(t)
			})
		})
	}
}

// TestRenewalRefused: the service says that the lease is gone; the holder knows at once.
func TestRenewalRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		c := newClient(t, f, nil)
		l := acquire(t, c, "k", opts())
		f.mu.Lock()
		delete(f.keys, "k") // as a server does that restarts without its data
		f.mu.Unlock()
		<-l.Lost()
		if got := f.elapsed(); got != 2*time.Second {
			t.Errorf("lost at %v, want at the first renewal", got)
		}
		if err := l.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("release: %v", err)
		}
		c.Close()
	})
}

// TestRenewalsEndWithRelease: none is sent after Release, and its timers are gone.
func TestRenewalsEndWithRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var m lock.Meter
		c := newClient(t, f, &m)
		l := acquire(t, c, "k", opts())
		time.Sleep(3 * time.Second)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := f.at("renew"); len(got) != 1 || m.Renewals.Load() != 1 {
			t.Errorf("renewals at %v, counted %d; want one, at 2 s", got, m.Renewals.Load())
		}
		if isLost(l) || m.Lost.Load() != 0 {
			t.Error("lost after its release")
		}
		c.Close()
	})
}

// TestStopped: a process that was stopped past the deadline must not believe in
// its lease until a timer gets its turn. (Here: nobody lets the timers run.)
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := lease.Keep(time.Now().Add(-time.Minute), 6*time.Second, func(context.Context) (time.Duration, error) {
			t.Error("renewed after the deadline")
			return 6 * time.Second, nil
		})
		<-k.Lost()
	})
}

// TestSession: a keeper without a deadline, that its owner ends.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.session = lease.Session()
		var m lock.Meter
		c := newClient(t, f, &m)
		a, b := acquire(t, c, "a", opts()), acquire(t, c, "b", opts())
		if _, ok := a.ValidUntil(); ok || isLost(a) {
			t.Fatal("a session has no deadline")
		}
		time.Sleep(5 * time.Second)
		if err := a.Release(t.Context()); err != nil || isLost(b) {
			t.Fatalf("release: %v; the other lease lost: %v", err, isLost(b))
		}
		f.session.Lose()
		f.session.Lose() // again: nothing
		if !isLost(b) {
			t.Error("the session is lost, its lease is not")
		}
		if err := b.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) || m.Lost.Load() != 1 {
			t.Errorf("release: %v; counted %d", err, m.Lost.Load())
		}
		// etcd-io/etcd#11456: a lock granted in a session that is lost is no lock.
		if l, err := c.Acquire(t.Context(), "c", opts()); !errors.Is(err, lock.ErrNotAcquired) || !f.free("c") {
			t.Errorf("acquire in a lost session: %v, %v; free: %v", l, err, f.free("c"))
		}
		c.Close()
	})
}

// TestGrantThatIsOver: a reply slower than the TTL brings no lease.
func TestGrantThatIsOver(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("giving back fails=%v", fails), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.answered = deaf("acquire", 7*time.Second)
				want := lock.ErrNotAcquired
				if fails {
					want = lock.ErrUnknown
					f.sent = func(_ context.Context, what string, _ int) error {
						if what == "release" {
							return errAway
						}
						return nil
					}
				}
				c := newClient(t, f, nil)
				if l, err := c.Acquire(t.Context(), "k", opts()); !errors.Is(err, want) {
					t.Errorf("acquire: %v, %v; want %v", l, err, want)
				}
				if got := len(f.at("release")); got != 1 {
					t.Errorf("given back %d times", got)
				}
				c.Close()
			})
		})
	}
}
