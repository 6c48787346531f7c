package redlock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

// hang bounds what a test waits for: it says that something hangs, never how long it takes.
const hang = 30 * time.Second

func dialTo(t *testing.T, target lock.Target) (lock.Leaser, *lock.Meter) {
	t.Helper()
	m := &lock.Meter{}
	target.Meter = m
	c, err := dial(context.Background(), target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(lock.Leaser), m
}

// servers are the cluster as a test sees it: a plain client and a proxy for each server.
type servers struct {
	target  lock.Target // through the proxies
	direct  lock.Target
	clients []*redis.Client
	proxies []*tcpproxy.Proxy
}

func cluster(t *testing.T, topology string) servers {
	t.Helper()
	s := servers{direct: backendtest.Target(t, topology)}
	s.target = s.direct
	s.target.Addrs = nil
	for _, addr := range s.direct.Addrs {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		t.Cleanup(func() { _ = c.Close() })
		p := tcpproxy.New(t, addr)
		s.clients, s.proxies = append(s.clients, c), append(s.proxies, p)
		s.target.Addrs = append(s.target.Addrs, p.Addr())
	}
	return s
}

// keys returns how many servers have the lock's key.
func (s servers) keys(t *testing.T) int {
	t.Helper()
	n := 0
	for _, c := range s.clients {
		got, err := c.Exists(context.Background(), s.direct.Prefix+"k").Result()
		if err != nil {
			t.Fatal(err)
		}
		n += int(got)
	}
	return n
}

// take puts somebody else's lock on a server.
func (s servers) take(t *testing.T, i int) {
	t.Helper()
	if err := s.clients[i].Set(context.Background(), s.direct.Prefix+"k", "another's", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

func (s servers) untake(t *testing.T, i int) {
	t.Helper()
	if err := s.clients[i].Del(context.Background(), s.direct.Prefix+"k").Err(); err != nil {
		t.Fatal(err)
	}
}

func opts(ttl time.Duration) lock.AcquireOptions {
	return lock.AcquireOptions{TTL: ttl, Wait: lock.WaitPolicy{Min: 5 * time.Millisecond, Max: 50 * time.Millisecond, Jitter: 1}}
}

func once(ttl time.Duration) lock.AcquireOptions {
	o := opts(ttl)
	o.Try = true
	return o
}

func acquire(t *testing.T, c lock.Leaser, o lock.AcquireOptions) lock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	l, err := c.Acquire(ctx, "k", o)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return l
}

func giveBack(t *testing.T, l lock.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !so(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestInfosAreValid(t *testing.T) {
	for _, i := range Infos() {
		if err := i.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestExclusion(t *testing.T) {
	for _, topology := range []string{"redlock-3", "redlock-5"} {
		t.Run(topology, func(t *testing.T) {
			tg := backendtest.Target(t, topology)
			var in atomic.Int64
			var wg sync.WaitGroup
			for range 3 {
				c, _ := dialTo(t, tg)
				for range 2 {
					wg.Go(func() {
						for range 10 {
							l := acquire(t, c, opts(20*time.Second))
							if n := in.Add(1); n != 1 {
								t.Errorf("%d are inside", n)
							}
							in.Add(-1)
							giveBack(t, l)
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// Requests side by side are one round trip.
func TestOneRoundTrip(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, m := dialTo(t, s.direct)
	before := m.Commands.Load()
	get, put := lock.NewTrace(), lock.NewTrace()
	l, err := c.Acquire(lock.WithTrace(context.Background(), get), "k", opts(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(lock.WithTrace(context.Background(), put)); err != nil {
		t.Fatal(err)
	}
	if get.Trips() != 1 || put.Trips() != 1 || get.Attempts() != 1 {
		t.Errorf("acquire: %d trips, %d attempts; release: %d trips; want 1 of each", get.Trips(), get.Attempts(), put.Trips())
	}
	eventually(t, "all servers are asked, twice", func() bool { return m.Commands.Load()-before >= 6 })
	eventually(t, "no key is left", func() bool { return s.keys(t) == 0 })
	if _, ok := l.Token(); ok {
		t.Error("a fencing token")
	}
}

// Case 30 (redisson#656, #2172: granted while others hold). Ours is granted with a strict
// quorum only, and what an attempt has set is deleted on all servers.
func TestCase30StrictQuorum(t *testing.T) {
	for _, tc := range []struct {
		topology string
		others   int
		granted  bool
	}{
		{"redlock-3", 1, true},
		{"redlock-3", 2, false},
		{"redlock-3", 3, false},
		{"redlock-5", 2, true},
		{"redlock-5", 3, false},
	} {
		t.Run(tc.topology, func(t *testing.T) {
			s := cluster(t, tc.topology)
			c, _ := dialTo(t, s.direct)
			for i := range tc.others {
				s.take(t, i)
			}
			l, err := c.Acquire(context.Background(), "k", once(20*time.Second))
			if (err == nil) != tc.granted {
				t.Fatalf("%d of %d servers are others': %v", tc.others, len(s.clients), err)
			}
			if err == nil {
				giveBack(t, l)
			} else {
				wantErr(t, "acquire", err, lock.ErrNotAcquired)
			}
			eventually(t, "only the others' keys are left", func() bool { return s.keys(t) == tc.others })
			for i := range tc.others {
				s.untake(t, i)
			}
		})
	}
}

// A server whose reply is lost seems to have failed, but has set the key: it is deleted there, too.
func TestCase30CleanUpWhereItSeemedToFail(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.target)
	s.take(t, 0)
	s.proxies[1].DropReplies(1)
	s.proxies[2].DropReplies(1)
	_, err := c.Acquire(context.Background(), "k", once(20*time.Second))
	if err == nil {
		t.Fatal("granted with no server's consent")
	}
	wantErr(t, "acquire", err, lock.ErrNotAcquired)
	eventually(t, "only the other's key is left", func() bool { return s.keys(t) == 1 })
	s.untake(t, 0)
}

// A minority that is silent costs no more than its timeout, and delays no release.
func TestMinorityIsSilent(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.target)
	s.proxies[0].Hold(true)
	for range 3 {
		giveBack(t, acquire(t, c, opts(20*time.Second)))
	}
	s.proxies[0].Hold(false)
	eventually(t, "no key is left, not on the silent one either", func() bool { return s.keys(t) == 0 })
}

// Without a quorum nobody gets the lock, and the caller is told rather than kept.
func TestQuorumIsLost(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.target)
	s.proxies[0].Hold(true)
	s.proxies[1].Hold(true)
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	_, err := c.Acquire(ctx, "k", opts(2*time.Second))
	if err == nil || ctx.Err() != nil {
		t.Fatalf("acquire: %v", err)
	}
	s.proxies[0].Hold(false)
	s.proxies[1].Hold(false)
	eventually(t, "no key is left", func() bool { return s.keys(t) == 0 })
	eventually(t, "it works again", func() bool {
		l, err := c.Acquire(ctx, "k", opts(2*time.Second))
		if err == nil {
			giveBack(t, l)
		}
		return err == nil
	})
}

// Case 31, as in package redis: the holder is told by its own deadline.
func TestCase31RenewalStalls(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, m := dialTo(t, s.target)
	o := opts(time.Second)
	o.Renew = true
	l := acquire(t, c, o)
	eventually(t, "two renewals", func() bool { return m.Renewals.Load() >= 2 })
	s.proxies[0].Hold(true) // a minority does not matter
	seen := m.Renewals.Load()
	eventually(t, "two more", func() bool { return m.Renewals.Load() >= seen+2 })
	s.proxies[1].Hold(true)
	select {
	case <-l.Lost():
	case <-time.After(hang):
		t.Fatal("the holder is never told")
	}
	s.proxies[0].Hold(false)
	s.proxies[1].Hold(false)
	wantErr(t, "release", l.Release(context.Background()), lock.ErrNotHeld)
}

// Case 28, as in package redis. The deadline is the TTL less the drift.
func TestCase28LocalDeadline(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.direct)
	l := acquire(t, c, opts(300*time.Millisecond))
	if d, ok := l.ValidUntil(); !ok || d.After(time.Now().Add(295*time.Millisecond)) {
		t.Errorf("the deadline is %v from now, %v; want less than 295ms", time.Until(d), ok)
	}
	select {
	case <-l.Lost():
	case <-time.After(hang):
		t.Fatal("not lost")
	}
}

// Replies that take longer than the lease's validity are no lock, whoever sent them.
func TestTooSlowIsNotHeld(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.target)
	for _, p := range s.proxies {
		p.HoldReplies(true)
	}
	_, err := c.Acquire(context.Background(), "k", once(200*time.Millisecond))
	if err == nil {
		t.Fatal("granted without a reply")
	}
	for _, p := range s.proxies {
		p.HoldReplies(false)
	}
	eventually(t, "no key is left", func() bool { return s.keys(t) == 0 })
}

// Case 32, as in package redis, on all servers.
func TestCase32CancelMidSet(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, m := dialTo(t, s.target)
	for _, p := range s.proxies {
		p.HoldReplies(true)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error, 1)
	go func() {
		_, err := c.Acquire(ctx, "k", opts(time.Minute))
		got <- err
	}()
	eventually(t, "all servers have the key", func() bool { return s.keys(t) == 3 })
	cancel()
	err := <-got
	wantErr(t, "acquire", err, context.Canceled)
	wantErr(t, "acquire", err, lock.ErrUnknown)
	for _, p := range s.proxies {
		p.HoldReplies(false)
	}
	eventually(t, "no key is left", func() bool { return s.keys(t) == 0 })
	eventually(t, "the orphan is counted", func() bool { return m.Orphans.Load() == 1 })
}

// A lease that others have taken over is released nowhere but where it is still there.
func TestReleaseOfALostLease(t *testing.T) {
	s := cluster(t, "redlock-3")
	c, _ := dialTo(t, s.direct)
	l := acquire(t, c, opts(20*time.Second))
	eventually(t, "all servers have the key", func() bool { return s.keys(t) == 3 })
	s.take(t, 0)
	s.take(t, 1)
	wantErr(t, "release", l.Release(context.Background()), lock.ErrNotHeld)
	eventually(t, "the others' keys are left", func() bool { return s.keys(t) == 2 })
	s.untake(t, 0)
	s.untake(t, 1)
}

func TestDial(t *testing.T) {
	s := cluster(t, "redlock-3")
	s.proxies[0].Refuse(true)
	c, _ := dialTo(t, s.target) // a quorum is enough
	giveBack(t, acquire(t, c, opts(20*time.Second)))
	s.proxies[1].Refuse(true)
	_, err := dial(context.Background(), s.target)
	if err == nil || !strings.Contains(err.Error(), "1 of 3 servers answer") {
		t.Errorf("without a quorum: %v", err)
	}
	two := s.direct
	two.Addrs = []string{s.direct.Addrs[0], s.direct.Addrs[1], s.direct.Addrs[1]} // one twice
	_, err = dial(context.Background(), two)
	var h interface{ Hint() string }
	if err == nil || !errors.As(err, &h) || h.Hint() == "" {
		t.Errorf("two servers: %v, which must have a hint", err)
	}
}

func TestBadTTL(t *testing.T) {
	c, _ := dialTo(t, backendtest.Target(t, "redlock-3"))
	_, err := c.Acquire(context.Background(), "k", opts(time.Millisecond))
	wantErr(t, "acquire", err, lock.ErrNotAcquired)
	if err == nil || !strings.Contains(err.Error(), minTTL.String()) {
		t.Errorf("the error does not name the least TTL: %v", err)
	}
}

func TestTimes(t *testing.T) {
	for _, tc := range []struct{ ttl, within, drift time.Duration }{
		{10 * time.Second, 500 * time.Millisecond, 102 * time.Millisecond},
		{time.Second, 50 * time.Millisecond, 12 * time.Millisecond},
		{200 * time.Millisecond, 25 * time.Millisecond, 4 * time.Millisecond},
		{40 * time.Millisecond, 10 * time.Millisecond, 2400 * time.Microsecond},
	} {
		if w, d := within(tc.ttl), drift(tc.ttl); w != tc.within || d != tc.drift {
			t.Errorf("TTL %v: within %v, drift %v; want %v, %v", tc.ttl, w, d, tc.within, tc.drift)
		}
	}
}
