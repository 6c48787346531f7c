package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/lock"
)

// Case 32 (blnk#354, ncps#913: the caller's context ends in
// the middle of SET, and the key stays until it expires). go-redis gives the
// connection up when a context's deadline passes, and does not tell the server; redsync and
// bsm/redislock return the error and delete nothing.
//
// Ours returns at once, and the grant that comes late is given back and counted.
func TestCase32CancelMidSet(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			direct.TTL = 20 * time.Second
			tg, proxy := behind(t, direct)
			c, m := dialTo(t, name, tg)
			r := raw(t, direct)
			proxy.HoldReplies(true)
			ctx, cancel := context.WithCancel(context.Background())
			got := make(chan error, 1)
			go func() {
				_, err := c.Acquire(ctx, "k", opts(20*time.Second))
				got <- err
			}()
			eventually(t, "the server has the key", func() bool { return !free(t, r, direct.Prefix+"k") })
			cancel()
			err := <-got
			wantErr(t, "acquire", err, lock.ErrUnknown)
			wantErr(t, "acquire", err, context.Canceled)
			proxy.HoldReplies(false)
			eventually(t, "the orphan is deleted", func() bool { return free(t, r, direct.Prefix+"k") })
			eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
		})
	}
}

// The same when no reply comes at all: the request is given up after T/6, and the key
// is deleted over another connection.
func TestCase32CancelAndReplyLost(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			tg, proxy := behind(t, direct)
			tg.TTL = 3 * time.Second
			c, m := dialTo(t, name, tg)
			r := raw(t, direct)
			proxy.DropReplies(1)
			ctx, cancel := context.WithCancel(context.Background())
			got := make(chan error, 1)
			go func() {
				_, err := c.Acquire(ctx, "k", opts(3*time.Second))
				got <- err
			}()
			proxy.AwaitDropped(1)
			cancel()
			wantErr(t, "acquire", <-got, lock.ErrUnknown)
			// Well before it would expire: a SET that was counted from now on would not fail then.
			eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
			if !free(t, r, direct.Prefix+"k") {
				t.Error("the orphan is there")
			}
		})
	}
}

// A reply that is lost while the caller waits: the lock reads its own token back and
// has it, from when the first request was sent. go-redis's default, three retries, sends SET NX
// again and answers "not set", while the server holds the caller's own token.
func TestUnknownReplyIsReadBack(t *testing.T) {
	for _, name := range own {
		for _, fence := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: "/fence"}[fence], func(t *testing.T) {
				direct := target(t)
				tg, proxy := behind(t, direct)
				c, _ := dialTo(t, name, tg)
				o := opts(6 * time.Second)
				o.Fence = fence
				giveBack(t, acquire(t, c, "k", o)) // so that the counter is not at its beginning
				proxy.DropReplies(1)
				before := time.Now()
				l := acquire(t, c, "k", o)
				took := time.Since(before)
				if d, ok := l.ValidUntil(); !ok || d.After(before.Add(o.TTL+took/2)) {
					t.Errorf("the deadline is %v after the first request was sent; the TTL is %v, the reply was lost", d.Sub(before), o.TTL)
				}
				if tok, ok := l.Token(); ok != fence || fence && tok != 2 {
					t.Errorf("token %d, %v; want 2 with a fence", tok, ok)
				}
				giveBack(t, l)
				if !free(t, raw(t, direct), direct.Prefix+"k") {
					t.Error("not free after the release")
				}
			})
		}
	}
}

// The server is cut off: nobody can tell what became of SET. When it is back, no orphan is left.
func TestUnknownReplyLeavesNoOrphan(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			tg, proxy := behind(t, direct)
			c, _ := dialTo(t, name, tg)
			r := raw(t, direct)
			proxy.HoldReplies(true)
			ctx, cancel := context.WithTimeout(context.Background(), hang)
			defer cancel()
			_, err := c.Acquire(ctx, "k", opts(3*time.Second))
			wantErr(t, "acquire", err, lock.ErrUnknown)
			if errors.Is(err, lock.ErrNotAcquired) {
				t.Errorf("the error says that the lock is surely not held: %v", err)
			}
			proxy.HoldReplies(false)
			eventually(t, "the orphan is deleted", func() bool { return free(t, r, direct.Prefix+"k") })
			giveBack(t, acquire(t, c, "k", opts(3*time.Second)))
		})
	}
}

// The request itself is late, and arrives when its connection was given up long ago, perhaps
// after the first attempt to delete what it leaves.
func TestLateRequestLeavesNoOrphan(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			tg, proxy := behind(t, direct)
			c, m := dialTo(t, name, tg)
			proxy.HoldRequests(true)
			ctx, cancel := context.WithTimeout(context.Background(), hang)
			defer cancel()
			_, err := c.Acquire(ctx, "k", opts(6*time.Second))
			wantErr(t, "acquire", err, lock.ErrUnknown)
			proxy.HoldRequests(false)
			eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
			r := raw(t, direct)
			eventually(t, "the orphan is deleted", func() bool { return free(t, r, direct.Prefix+"k") })
		})
	}
}

// A release whose reply is lost is sent again, until it is known that the key is gone.
func TestReleaseReplyLost(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			tg, proxy := behind(t, direct)
			c, _ := dialTo(t, name, tg)
			l := acquire(t, c, "k", opts(3*time.Second))
			proxy.DropReplies(1)
			wantErr(t, "release", l.Release(context.Background()), lock.ErrUnknown)
			if !free(t, raw(t, direct), direct.Prefix+"k") {
				t.Error("not free after the release")
			}
		})
	}
}

// A release whose request does not arrive is sent again when the caller has long gone.
func TestReleaseOutlivesItsCaller(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			tg, proxy := behind(t, direct)
			c, _ := dialTo(t, name, tg)
			l := acquire(t, c, "k", opts(20*time.Second))
			proxy.HoldRequests(true)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(10*time.Millisecond, cancel)
			wantErr(t, "release", l.Release(ctx), lock.ErrUnknown)
			proxy.Cut() // what was held is lost
			proxy.HoldRequests(false)
			eventually(t, "the key is deleted", func() bool { return free(t, raw(t, direct), direct.Prefix+"k") })
		})
	}
}

// Case 31 (redisson/redisson#5698, #3194: the renewal stalls, or does not resume after a
// reconnect, and the holder is not told). Ours is told by its local deadline; a renewal
// that gets through again before that goes on.
func TestCase31RenewalStalls(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg, proxy := behind(t, target(t))
			c, m := dialTo(t, name, tg)
			o := opts(time.Second)
			o.Renew = true
			l := acquire(t, c, "k", o)
			eventually(t, "a renewal", func() bool { return m.Renewals.Load() > 0 })
			proxy.Hold(true)
			select {
			case <-l.Lost():
			case <-time.After(hang):
				t.Fatal("the holder is never told")
			}
			if d, _ := l.ValidUntil(); time.Now().Before(d) {
				t.Error("lost before the deadline, although nobody else can know")
			}
			proxy.Hold(false)
			wantErr(t, "release", l.Release(context.Background()), lock.ErrNotHeld)
		})
	}
}

func TestCase31RenewalResumesAfterReconnect(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg, proxy := behind(t, target(t))
			c, m := dialTo(t, name, tg)
			o := opts(3 * time.Second)
			o.Renew = true
			l := acquire(t, c, "k", o)
			proxy.Cut()
			eventually(t, "renewals over the next connection", func() bool { return m.Renewals.Load() >= 2 })
			select {
			case <-l.Lost():
				t.Error("lost, although it was renewed")
			default:
			}
			giveBack(t, l)
		})
	}
}

// Case 28 (go-redsync/redsync#72: Valid was true after the expiry). Ours has a local
// deadline, before the server's, that needs no server to pass.
func TestCase28LocalDeadline(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg, proxy := behind(t, target(t))
			c, _ := dialTo(t, name, tg)
			sent := time.Now()
			l := acquire(t, c, "k", opts(300*time.Millisecond))
			d, ok := l.ValidUntil()
			if !ok || d.Before(sent) || d.After(time.Now().Add(300*time.Millisecond)) {
				t.Errorf("deadline %v after the request, %v", d.Sub(sent), ok)
			}
			proxy.Hold(true)
			select {
			case <-l.Lost():
			case <-time.After(hang):
				t.Fatal("not lost")
			}
			proxy.Hold(false)
		})
	}
}

// Case 29 (bsm/redislock#74, #28, #79: the wait is capped at the TTL, silently; the
// error of a timeout is another one). Ours waits as long as the caller does, and says both.
func TestCase29CallersDeadline(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			a, _ := dialTo(t, name, tg)
			b, _ := dialTo(t, name, tg)
			o := opts(time.Second)
			o.Renew = true
			l := acquire(t, a, "k", o)
			ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond) // several TTLs
			defer cancel()
			_, err := b.Acquire(ctx, "k", opts(time.Second))
			wantErr(t, "acquire", err, context.DeadlineExceeded)
			if !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrUnknown) {
				t.Errorf("neither surely not held nor unknown: %v", err)
			}
			if ctx.Err() == nil {
				t.Error("the wait ended before the caller's deadline")
			}
			giveBack(t, l)
		})
	}
}

// A server that nobody reaches is no reason to wait: the caller is told.
func TestServerGone(t *testing.T) {
	for _, name := range append(own, "redis-naive") {
		t.Run(name, func(t *testing.T) {
			tg, proxy := behind(t, target(t))
			c, _ := dialTo(t, name, tg)
			proxy.Refuse(true)
			proxy.Cut()
			ctx, cancel := context.WithTimeout(context.Background(), hang)
			defer cancel()
			_, err := c.Acquire(ctx, "k", opts(time.Second))
			if err == nil || ctx.Err() != nil {
				t.Fatalf("acquire: %v, %v", err, ctx.Err())
			}
			proxy.Refuse(false)
			eventually(t, "it works again", func() bool {
				l, err := c.Acquire(ctx, "other", opts(time.Second))
				if err == nil {
					giveBack(t, l)
				}
				return err == nil
			})
		})
	}
}
