package rueidislock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// TestLateReply: the reply of a grant is held back until the caller has left. The library
// gives such an attempt up after 20 ms and deletes its key by itself, so that there is no
// orphan to be released.
func TestLateReply(t *testing.T) {
	target := backendtest.Target(t, "redis")
	target.TTL = peertest.Hang
	info := rueidislock.Infos()[0]
	direct := peertest.Dial(t, info, target)
	proxy := tcpproxy.New(t, target.Addrs[0])
	target.Addrs = []string{proxy.Addr()}
	c := peertest.Dial(t, info, target)
	o := lock.AcquireOptions{TTL: target.TTL}
	c.Put(c.Get("k", o))
	proxy.HoldReplies(true)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k", o)
		got <- err
	}()
	proxy.AwaitHeld(1)
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v, want canceled", err)
	}
	proxy.HoldReplies(false)
	direct.Put(direct.Get("k", o))
}

// TestExtends: the library extends, asked for or not; cut off from its server it says
// that the lease is lost, from its own clock. Observed of v1.0.79: up to TTL/2 after the
// key has expired, because it waits for the extension under way as long as that was to last.
func TestExtends(t *testing.T) {
	target := backendtest.Target(t, "redis")
	target.TTL = time.Second
	proxy := tcpproxy.New(t, target.Addrs[0])
	direct := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
	t.Cleanup(func() { _ = direct.Close() })
	info := rueidislock.Infos()[0]

	through := target
	through.Addrs = []string{proxy.Addr()}
	c := peertest.Dial(t, info, through)
	l := c.Get("extended", lock.AcquireOptions{TTL: target.TTL})
	before := c.Meter.Commands.Load()
	peertest.Await(t, "two extensions", func() bool { return c.Meter.Commands.Load() >= before+2 })
	_ = l.Release(t.Context()) // lost, if the machine is slow

	peertest.CutOff(t, info, target, proxy, func() bool {
		return direct.Exists(t.Context(), target.Prefix+":0:k").Val() == 0
	})
}
