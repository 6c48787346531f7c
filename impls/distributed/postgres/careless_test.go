package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/lock"
)

// Who gets the holder's connection is granted the lock, too.
func TestPooledLetsTwoIn(t *testing.T) {
	tg := target(t)
	cl, other := leaser(t, "pg-advisory-pooled", tg), leaser(t, "pg-advisory-pooled", tg)
	a := mustAcquire(t, cl, "k", options)
	if _, err := other.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("another process: got %v, want it refused", err)
	}
	b := mustAcquire(t, cl, "k", options) // two are inside
	mustRelease(t, a)
	if _, err := other.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("another process, while b holds: got %v, want it refused", err)
	}
	mustRelease(t, b)
	mustRelease(t, mustAcquire(t, other, "k", try()))
}

// An unlock goes to whatever connection is free, and the lock stays in the one that holds it: for good.
func TestPooledUnlocksAnother(t *testing.T) {
	tg := target(t)
	cl, o := leaser(t, "pg-advisory-pooled", tg), observe(t, tg)
	blocker := leaser(t, "pg-advisory", tg)
	theirs := mustAcquire(t, blocker, "b", options)
	mine := mustAcquire(t, cl, "a", options)
	r := acquiring(bounded(t), cl, "b", options) // takes the connection of a, which was given back last
	o.await(1, waiting)
	if err := mine.Release(bounded(t)); !errors.Is(err, lock.ErrNotHeld) {
		t.Errorf("release: got %v, want ErrNotHeld: another session was asked", err)
	}
	mustRelease(t, theirs)
	x := got(t, r)
	if x.err != nil {
		t.Fatal(x.err)
	}
	mustRelease(t, x.lease)
	o.await(1, locked) // a, which nobody holds
	if _, err := blocker.Acquire(bounded(t), "a", try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("the leaked lock: got %v, want it to keep others out", err)
	}
	if err := cl.Close(); err != nil {
		t.Fatal(err)
	}
	mustRelease(t, mustAcquire(t, blocker, "a", options))
}

// Nobody looks after a connection in a pool: its holder is not told that another one is inside.
func TestPooledHolderIsNotTold(t *testing.T) {
	tg := target(t)
	cl, other, o := leaser(t, "pg-advisory-pooled", tg), leaser(t, "pg-advisory-pooled", tg), observe(t, tg)
	first := mustAcquire(t, cl, "k", options)
	o.terminate(locked)
	second := mustAcquire(t, other, "k", options)
	select {
	case <-first.Lost():
		t.Error("the holder was told: then this lock is not careless")
	default:
	}
	if err := first.Release(bounded(t)); err == nil {
		t.Error("released a lock that it had lost: no error")
	}
	if _, err := cl.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("got %v, want the second to hold it still", err)
	}
	mustRelease(t, second)
}

// A grant that comes after its caller has left stays in the pool.
func TestPooledLeaksLateGrant(t *testing.T) {
	p, tg, direct := proxied(t)
	cl, other, o := leaser(t, "pg-advisory-pooled", tg), leaser(t, "pg-advisory", direct), observe(t, direct)
	p.HoldReplies(true)
	ctx, leave := context.WithCancel(context.Background())
	r := acquiring(ctx, cl, "k", options)
	p.AwaitHeld(1)
	leave()
	wantErr(t, got(t, r).err, context.Canceled, lock.ErrUnknown)
	p.HoldReplies(false)
	o.await(1, locked)
	if _, err := other.Acquire(bounded(t), "k", try()); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("got %v, want it to be held by nobody", err)
	}
	if n := tg.Meter.Orphans.Load(); n != 0 {
		t.Errorf("%d orphans are known, want none", n)
	}
}

// A write whose reply is lost is done again.
func TestBlindCountsTwice(t *testing.T) {
	none := func(lock.Optimistic) {}
	for _, c := range []struct {
		name string
		want int64
	}{{"pg-version", 101}, {"pg-version-blind", 201}} {
		t.Run(c.name, func(t *testing.T) {
			_, v, err := loseReplyOf(t, c.name, none, none)
			if err != nil || v != c.want {
				t.Errorf("value %d, %v; want %d", v, err, c.want)
			}
		})
	}
}

// Without a fault both count the same, and a conflict is no doubt.
func TestBlindWithoutFault(t *testing.T) {
	tg := target(t)
	o := dial(t, "pg-version-blind", tg).(lock.Optimistic)
	once := false
	attempts, err := o.Update(bounded(t), "k", func(v int64) int64 {
		if !once {
			once = true
			if _, err := optimist(t, tg).Update(bounded(t), "k", increment); err != nil {
				t.Error(err)
			}
		}
		return v + 10
	})
	if v := value(t, o, "k"); err != nil || attempts != 2 || v != 11 {
		t.Errorf("%d attempts, %v, value %d; want 2, none, 11", attempts, err, v)
	}
	ctx, leave := context.WithCancel(context.Background())
	leave()
	if _, err := o.Update(ctx, "k", increment); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("a context that has ended: got %v, want ErrNotAcquired", err)
	}
}

// What a vanished peer costs follows from the TTL.
func TestVanished(t *testing.T) {
	for _, c := range []struct{ ttl, want time.Duration }{
		{0, 3 * time.Second},
		{time.Second, 3 * time.Second},
		{3 * time.Second, 3 * time.Second},
		{3500 * time.Millisecond, 6 * time.Second},
		{10 * time.Second, 12 * time.Second},
		{time.Hour, 21 * time.Second},
	} {
		if got := vanished(c.ttl); got != c.want {
			t.Errorf("TTL %v: got %v, want %v", c.ttl, got, c.want)
		}
	}
}

// The server has the settings, and the name that was asked for.
func TestSessionSettings(t *testing.T) {
	tg := target(t)
	tg.TTL, tg.App = 4*time.Second, "lockbench/app"
	n, err := namesOf(tg.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	show := &statement{"show", "SELECT current_setting($1::text)"}
	p, err := open(bounded(t), tg, n, []*statement{show, stRollback}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for name, want := range map[string]string{
		"application_name":    "lockbench/app",
		"tcp_keepalives_idle": "2", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "2",
		"tcp_user_timeout": "6000", "client_connection_check_interval": "1s", "lock_timeout": "1min",
	} {
		var have string
		err := p.once(bounded(t), func(c *conn) { c.put(show, c.text(name)) }, func(c *conn) { have = string(c.cols[0]) })
		if err != nil || have != want {
			t.Errorf("%s: got %q, %v; want %q", name, have, err, want)
		}
	}
	tg.App = string(make([]byte, maxName+1))
	if _, err := configOf(tg, n); err == nil {
		t.Error("a name that the server would cut: no error")
	}
}
