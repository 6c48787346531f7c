package redislock_test

import (
	"context"
	"testing"
	"time"

	lib "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
)

// long is a TTL that no test waits out: a key that is gone was deleted.
const long = 10 * time.Minute

// TestCase32 (blnk#354, ncps#913): the caller's context ends while its request is under way. Observed of
// v0.9.4 over go-redis v9.23.0: by default the context is not heeded then, and Obtain returns the lock when
// the reply is there; where go-redis heeds it (ContextTimeoutEnabled), Obtain returns an error, nobody
// knows the token, and the key stays for the whole TTL.
func TestCase32(t *testing.T) {
	for _, c := range []struct {
		name    string
		heeds   bool
		granted bool
	}{{"default", false, true}, {"heeding", true, false}} {
		t.Run(c.name, func(t *testing.T) {
			target := backendtest.Target(t, "redis")
			proxy := tcpproxy.New(t, target.Addrs[0])
			direct := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
			through := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: c.heeds})
			t.Cleanup(func() { _, _ = direct.Close(), through.Close() })
			client := lib.New(through)
			first, err := client.Obtain(t.Context(), target.Prefix+"other", long, nil) // the server knows the script
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Release(t.Context()); err != nil {
				t.Fatal(err)
			}

			key := target.Prefix + "k"
			proxy.HoldReplies(true)
			// go-redis looks at a context's deadline while it waits for a reply, and never at its end.
			ctx, cancel := context.WithCancel(t.Context())
			if c.heeds {
				ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
			}
			defer cancel()
			type result struct {
				l   *lib.Lock
				err error
			}
			got := make(chan result, 1)
			go func() {
				l, err := client.Obtain(ctx, key, long, nil)
				got <- result{l, err}
			}()
			exists := func() bool { return direct.Exists(t.Context(), key).Val() == 1 }
			peertest.Await(t, "the server to have it", exists)
			proxy.AwaitHeld(1)
			var r result
			if c.heeds {
				r = <-got
			}
			cancel()
			proxy.HoldReplies(false)
			if !c.heeds {
				r = <-got
			}
			t.Logf("Obtain returns %v; the key is there for %v more", r.err, direct.TTL(t.Context(), key).Val())
			if (r.err == nil) != c.granted || !exists() {
				t.Errorf("got %v, and the key is there: %v; want granted %v, and the key", r.err, exists(), c.granted)
			}
			if r.err != nil {
				return
			}
			if err := r.l.Release(t.Context()); err != nil || exists() {
				t.Errorf("release: %v, the key is there: %v", err, exists())
			}
		})
	}
}

// TestCase34 (hashicorp/consul#18271): a holder that is cut off does not know. Observed of v0.9.4: the
// lock has no deadline of its own. TTL asks the server, and hangs as long as the network does; the caller's own
// clock is all there is.
func TestCase34(t *testing.T) {
	target := backendtest.Target(t, "redis")
	proxy := tcpproxy.New(t, target.Addrs[0])
	direct := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
	through := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: peertest.Hang, MaxRetries: -1})
	t.Cleanup(func() { _, _ = direct.Close(), through.Close() })
	key := target.Prefix + "k"
	l, err := lib.New(through).Obtain(t.Context(), key, 500*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Hold(true)
	type answer struct {
		left time.Duration
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		left, err := l.TTL(t.Context())
		got <- answer{left, err}
	}()
	peertest.Await(t, "the expiry", func() bool { return direct.Exists(t.Context(), key).Val() == 0 })
	select {
	case a := <-got:
		t.Errorf("cut off, it knows: %v, %v", a.left, a.err)
	default:
	}
	proxy.Hold(false)
	if a := <-got; a.err != nil || a.left != 0 {
		t.Errorf("connected again: %v, %v, want 0", a.left, a.err)
	}
}
