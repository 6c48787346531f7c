package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"lockbench/lock"
)

func optimist(t testing.TB, tg lock.Target) lock.Optimistic {
	t.Helper()
	return dial(t, "pg-version", tg).(lock.Optimistic)
}

func increment(v int64) int64 { return v + 1 }

// Concurrent increments all count, once.
func TestVersionIncrements(t *testing.T) {
	const clients, workers, rounds = 2, 4, 25
	tg := target(t)
	var wg sync.WaitGroup
	var last lock.Optimistic
	for range clients {
		o := optimist(t, tg)
		last = o
		for range workers {
			wg.Go(func() {
				for range rounds {
					if _, err := o.Update(bounded(t), "k", increment); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if v := value(t, last, "k"); v != clients*workers*rounds {
		t.Errorf("value %d, want %d", v, clients*workers*rounds)
	}
}

// loseReply makes an Update whose first write reaches the server, and whose reply is
// lost. before and after run around that write, which is held back until before is done.
func loseReply(t *testing.T, before, after func(lock.Optimistic)) (attempts int, left int64, err error) {
	t.Helper()
	return loseReplyOf(t, "pg-version", before, after)
}

func loseReplyOf(t *testing.T, name string, before, after func(lock.Optimistic)) (attempts int, left int64, err error) {
	t.Helper()
	p, tg, direct := proxied(t)
	o, other := dial(t, name, tg).(lock.Optimistic), optimist(t, direct)
	if _, err := other.Update(bounded(t), "k", increment); err != nil { // the row is there
		t.Fatal(err)
	}
	var once sync.Once
	cut := make(chan struct{})
	attempts, err = o.Update(bounded(t), "k", func(v int64) int64 {
		once.Do(func() {
			before(other)
			p.HoldReplies(true)
			go func() {
				defer close(cut)
				p.AwaitHeld(1)
				after(other)
				p.Cut()
				p.HoldReplies(false)
			}()
		})
		return v + 100
	})
	<-cut
	return attempts, value(t, other, "k"), err
}

// A write whose reply is lost is found in the row, and not repeated.
func TestVersionLostReply(t *testing.T) {
	none := func(lock.Optimistic) {}
	ones := func(n int) func(lock.Optimistic) {
		return func(o lock.Optimistic) {
			for range n {
				if _, err := o.Update(bounded(t), "k", increment); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, c := range []struct {
		name          string
		before, after func(lock.Optimistic)
		attempts      int
		want          int64
	}{
		{"written", none, none, 1, 101},
		{"written, and others since", none, ones(5), 1, 106},
		{"refused", ones(1), none, 2, 102},
		{"refused, and others since", ones(1), ones(5), 2, 107},
	} {
		t.Run(c.name, func(t *testing.T) {
			attempts, v, err := loseReply(t, c.before, c.after)
			if err != nil || attempts != c.attempts || v != c.want {
				t.Errorf("%d attempts, error %v, value %d; want %d, none, %d", attempts, err, v, c.attempts, c.want)
			}
		})
	}
	t.Run("written too long ago to tell", func(t *testing.T) {
		_, v, err := loseReply(t, none, ones(40))
		wantErr(t, err, lock.ErrUnknown)
		if v != 141 {
			t.Errorf("value %d, want 141", v)
		}
	})
}

// With connections cut at any time, each update counts once, or is said to be unknown.
func TestVersionUnderCuts(t *testing.T) {
	const workers, wanted, cuts = 4, 150, 10
	p, tg, direct := proxied(t)
	o := optimist(t, tg)
	var acked, unknown atomic.Int64
	step := make(chan struct{}, 1)
	ctx := bounded(t)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for acked.Load() < wanted && ctx.Err() == nil {
				switch _, err := o.Update(ctx, "k", increment); {
				case err == nil:
					acked.Add(1)
				case errors.Is(err, lock.ErrUnknown):
					unknown.Add(1)
				}
				select {
				case step <- struct{}{}:
				default:
				}
			}
		})
	}
	for range cuts {
		<-step
		p.Cut()
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("it did not get on")
	}
	v, lo := value(t, optimist(t, direct), "k"), acked.Load()
	if v < lo || v > lo+unknown.Load() {
		t.Errorf("value %d, acknowledged %d, unknown %d", v, lo, unknown.Load())
	}
}

// An update that waits for a row's lock ends with its context, and is not done later.
func TestVersionCancel(t *testing.T) {
	tg := target(t)
	o, ob := optimist(t, tg), observe(t, tg)
	if err := o.(lock.Preparer).Prepare(bounded(t), []string{"k"}); err != nil {
		t.Fatal(err)
	}
	rows := leaser(t, "pg-row", tg)
	le := mustAcquire(t, rows, "k", options)
	ctx, leave := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := o.Update(ctx, "k", increment)
		done <- err
	}()
	ob.await(1, waiting)
	leave()
	wantErr(t, <-done, lock.ErrNotAcquired)
	mustRelease(t, le)
	if v := value(t, o, "k"); v != 0 {
		t.Errorf("value %d, want 0", v)
	}
}
