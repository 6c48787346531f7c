package redsync_test

import (
	"testing"
	"time"

	lib "github.com/go-redsync/redsync/v4"
	adapter "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
)

// TestCase28 (go-redsync/redsync#72): Valid asks the server and says what was true when
// it answered; Until is the local deadline. Observed of v4.18.1: false once the key is gone,
// true after expiry if the reply was on its way for longer.
func TestCase28(t *testing.T) {
	target := backendtest.Target(t, "redis")
	proxy := tcpproxy.New(t, target.Addrs[0])
	direct := redis.NewClient(&redis.Options{Addr: target.Addrs[0]})
	through := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _, _ = direct.Close(), through.Close() })
	const ttl = 500 * time.Millisecond
	m := lib.New(adapter.NewPool(through)).NewMutex(target.Prefix+"k", lib.WithExpiry(ttl), lib.WithTimeoutFactor(1))
	expired := func() bool {
		return !time.Now().Before(m.Until()) && direct.Exists(t.Context(), m.Name()).Val() == 0
	}

	if err := m.Lock(); err != nil {
		t.Fatal(err)
	}
	peertest.Await(t, "the expiry", expired)
	//lint:ignore SA1019 it is what the case is about
	if ok, _ := m.Valid(); ok {
		t.Error("Valid is true after the key has gone")
	}

	if err := m.Lock(); err != nil {
		t.Fatal(err)
	}
	proxy.HoldReplies(true)
	valid := make(chan bool, 1)
	go func() {
		//lint:ignore SA1019 it is what the case is about
		ok, _ := m.Valid()
		valid <- ok
	}()
	proxy.AwaitHeld(1)
	peertest.Await(t, "the expiry", expired)
	proxy.HoldReplies(false)
	ok := <-valid
	t.Logf("the reply of Valid comes after the expiry: it returns %v, %v after Until", ok, time.Since(m.Until()))
	if time.Now().Before(m.Until()) {
		t.Error("Until is not over, but the key is gone")
	}
}
