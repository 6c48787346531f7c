package redsync_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	lib "github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	adapter "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
)

// long is a TTL that no test waits out: a key that is gone was deleted.
const long = 10 * time.Minute

// servers is the library as such over independent servers, each by way of a proxy, and what looks at
// their keys beside it.
type servers struct {
	t       *testing.T
	direct  []*redis.Client
	proxies []*tcpproxy.Proxy
	m       *lib.Mutex
}

// newServers connects with go-redis's options as change leaves them.
func newServers(t *testing.T, topology string, change func(*redis.Options)) *servers {
	target := backendtest.Target(t, topology)
	s := &servers{t: t}
	var ps []pools.Pool
	for _, addr := range target.Addrs {
		direct := redis.NewClient(&redis.Options{Addr: addr})
		p := tcpproxy.New(t, addr)
		o := &redis.Options{Addr: p.Addr()}
		change(o)
		through := redis.NewClient(o)
		t.Cleanup(func() { _, _ = direct.Close(), through.Close() })
		if err := through.Ping(t.Context()).Err(); err != nil { // the connection is there
			t.Fatal(err)
		}
		s.direct, s.proxies = append(s.direct, direct), append(s.proxies, p)
		ps = append(ps, adapter.NewPool(through))
	}
	// A timeout factor of 1: a loaded machine is no failed server.
	s.m = lib.New(ps...).NewMutex(target.Prefix+"k", lib.WithExpiry(long), lib.WithTimeoutFactor(1))
	return s
}

const other = "other"

// take gives the first n servers' keys to somebody else.
func (s *servers) take(n int) {
	s.t.Helper()
	for _, c := range s.direct[:n] {
		if err := c.Set(s.t.Context(), s.m.Name(), other, long).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// own returns on how many servers the key is the library's.
func (s *servers) own() (n int) {
	s.t.Helper()
	for _, c := range s.direct {
		v, err := c.Get(s.t.Context(), s.m.Name()).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			s.t.Fatal(err)
		}
		if err == nil && v != other {
			n++
		}
	}
	return n
}

// TestCase30 (redisson/redisson#656, #2172): granted while others hold. Observed of v4.18.1: a
// strict majority grants, nothing less does, and what a failed attempt has set is deleted.
func TestCase30(t *testing.T) {
	for _, c := range []struct {
		topology string
		others   int
		granted  bool
		own      int // keys afterwards
	}{
		{"redlock-3", 0, true, 3},
		{"redlock-3", 1, true, 2},
		{"redlock-3", 2, false, 0},
		{"redlock-3", 3, false, 0},
		{"redlock-5", 2, true, 3},
		{"redlock-5", 3, false, 0},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.topology, c.others), func(t *testing.T) {
			s := newServers(t, c.topology, func(*redis.Options) {})
			s.take(c.others)
			err := s.m.TryLock()
			if own := s.own(); (err == nil) != c.granted || own != c.own {
				t.Errorf("%d servers are others': got %v and %d own keys, want granted %v and %d", c.others, err, own, c.granted, c.own)
			}
			if err != nil {
				return
			}
			if ok, err := s.m.Unlock(); !ok || s.own() != 0 {
				t.Errorf("unlock: %v, %v, %d keys left", ok, err, s.own())
			}
		})
	}
}

// TestCase32 (blnk#354, ncps#913): the caller's context ends while SET is under way. Observed of v4.18.1
// over go-redis v9.23.0: what an attempt has set is deleted under the caller's context, which has
// ended, so that nothing is sent and the key stays for the whole TTL, where
//   - go-redis heeds the context's deadline (ContextTimeoutEnabled), as many set it; or
//   - it does not, by default, but the majority is somebody else's.
//
// By default, and with the majority, it locks, although the context has ended.
func TestCase32(t *testing.T) {
	for _, c := range []struct {
		name     string
		topology string
		heeds    bool
		others   int
		granted  bool
		keys     int // afterwards
	}{
		{"default, one server", "redis", false, 0, true, 1}, // the lock's key
		{"heeding, one server", "redis", true, 0, false, 1},
		{"default, majority is taken", "redlock-3", false, 2, false, 1},
		{"heeding, three servers", "redlock-3", true, 0, false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServers(t, c.topology, func(o *redis.Options) { o.ContextTimeoutEnabled = c.heeds })
			s.take(c.others)
			for _, p := range s.proxies {
				p.HoldReplies(true)
			}
			// go-redis looks at a context's deadline while it waits for a reply, and never at its end.
			ctx, cancel := context.WithCancel(t.Context())
			if c.heeds {
				ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
			}
			defer cancel()
			got := make(chan error, 1)
			go func() { got <- s.m.TryLockContext(ctx) }()
			peertest.Await(t, "the servers to have it", func() bool { return s.own() == len(s.direct)-c.others })
			for _, p := range s.proxies {
				p.AwaitHeld(1)
			}
			var err error
			if c.heeds { // it returns without the replies
				err = <-got
			}
			cancel()
			for _, p := range s.proxies {
				p.HoldReplies(false)
			}
			if !c.heeds {
				err = <-got
			}
			t.Logf("Lock returns %v; keys of its value: %d, for %v more", err, s.own(), s.direct[len(s.direct)-1].TTL(t.Context(), s.m.Name()).Val())
			if (err == nil) != c.granted || s.own() != c.keys {
				t.Errorf("got %v and %d keys, want granted %v and %d", err, s.own(), c.granted, c.keys)
			}
		})
	}
}
