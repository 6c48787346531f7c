package redis

import (
	"context"
	"testing"
	"time"

	"lockbench/lock"
)

// An acquisition returns when its context ends, although its reply is held back for as long as
// the test wants; what it has won is deleted and counted when the server is heard again.
func TestLeavingDoesNotWaitForTheReply(t *testing.T) {
	for _, name := range own {
		for _, kind := range []string{"cancelled", "deadline"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				direct := target(t)
				direct.TTL = time.Hour // no timeout of a command ends it
				tg, proxy := behind(t, direct)
				c, m := dialTo(t, name, tg)
				r := raw(t, direct)
				giveBack(t, acquire(t, c, "other", opts(time.Hour))) // the connection is there
				proxy.HoldReplies(true)
				ctx, cancel := context.WithCancel(context.Background())
				want := context.Canceled
				if kind == "deadline" {
					cancel()
					ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
					want = context.DeadlineExceeded
				}
				defer cancel()
				got := make(chan error, 1)
				go func() {
					_, err := c.Acquire(ctx, "k", opts(time.Hour))
					got <- err
				}()
				eventually(t, "the server has the key", func() bool { return !free(t, r, direct.Prefix+"k") })
				if kind == "cancelled" {
					cancel()
				}
				select {
				case err := <-got:
					wantErr(t, "acquire", err, lock.ErrUnknown)
					wantErr(t, "acquire", err, want)
				case <-time.After(hang):
					t.Fatal("Acquire waits for the reply")
				}
				proxy.HoldReplies(false)
				eventually(t, "the orphan is deleted", func() bool { return free(t, r, direct.Prefix+"k") })
				eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
				giveBack(t, acquire(t, c, "k", opts(time.Hour)))
			})
		}
	}
}

// The same of a release, which goes on without its caller.
func TestReleaseDoesNotWaitForTheReply(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			direct := target(t)
			direct.TTL = time.Hour
			tg, proxy := behind(t, direct)
			c, _ := dialTo(t, name, tg)
			l := acquire(t, c, "k", opts(time.Hour))
			proxy.HoldRequests(true)
			ctx, cancel := context.WithCancel(context.Background())
			got := make(chan error, 1)
			go func() { got <- l.Release(ctx) }()
			proxy.AwaitHeldRequests(1)
			cancel()
			select {
			case err := <-got:
				wantErr(t, "release", err, lock.ErrUnknown)
				wantErr(t, "release", err, context.Canceled)
			case <-time.After(hang):
				t.Fatal("Release waits for the reply")
			}
			proxy.HoldRequests(false)
			eventually(t, "the key is deleted", func() bool { return free(t, raw(t, direct), direct.Prefix+"k") })
		})
	}
}

// One who leaves does not take another's connection with him: the same client goes on, in
// many goroutines, while callers come and go.
func TestLeavingDisturbsNobody(t *testing.T) {
	for _, name := range own {
		t.Run(name, func(t *testing.T) {
			tg := target(t)
			c, m := dialTo(t, name, tg)
			stop := make(chan struct{})
			leavers := make(chan struct{})
			go func() {
				defer close(leavers)
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					ctx, cancel := context.WithCancel(context.Background())
					time.AfterFunc(time.Duration(i%50)*10*time.Microsecond, cancel)
					if l, err := c.Acquire(ctx, "left", opts(10*time.Second)); err == nil {
						_ = l.Release(ctx) // it goes on if this one leaves
					}
					cancel()
				}
			}()
			for range 300 {
				giveBack(t, acquire(t, c, "k", opts(10*time.Second)))
			}
			close(stop)
			<-leavers
			r := raw(t, tg)
			eventually(t, "nothing is left of those who left", func() bool { return free(t, r, tg.Prefix+"left") })
			t.Logf("%d orphans", m.Orphans.Load())
		})
	}
}
