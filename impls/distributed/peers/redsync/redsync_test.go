package redsync_test

import (
	"errors"
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/redsync"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

func TestPeer(t *testing.T) {
	for _, topology := range []string{"redis", "redlock-3", "redis-sentinel"} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			target.TTL = 20 * time.Second // redsync gives each round a twentieth of it
			peertest.Run(t, redsync.Infos()[0], target, peertest.Options{Rounds: 2})
		})
	}
}

// TestCounts: SET NX and the deletion's script, on each server; a round is one trip.
func TestCounts(t *testing.T) {
	for topology, servers := range map[string]int64{"redis": 1, "redlock-3": 3} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			c := peertest.Dial(t, redsync.Infos()[0], target)
			want := peertest.Cost{Commands: 2 * servers, AcquireTrips: 1, ReleaseTrips: 1, Attempts: 1}
			if got := peertest.Pair(t, c, lock.AcquireOptions{TTL: 20 * time.Second}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestFailedTry: the library deletes after a failed attempt, too.
func TestFailedTry(t *testing.T) {
	target := backendtest.Target(t, "redis")
	c := peertest.Dial(t, redsync.Infos()[0], target)
	o := lock.AcquireOptions{TTL: 20 * time.Second}
	l := c.Get("k", o)
	before := c.Meter.Commands.Load()
	o.Try = true
	if _, err := c.Acquire(t.Context(), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
		t.Fatalf("try: %v", err)
	}
	if got := c.Meter.Commands.Load() - before; got != 2 {
		t.Errorf("a failed try sends %d commands, want 2", got)
	}
	c.Put(l)
}

// TestGivesUp: after 32 tries, long before its caller.
func TestGivesUp(t *testing.T) {
	target := backendtest.Target(t, "redis")
	c := peertest.Dial(t, redsync.Infos()[0], target)
	o := lock.AcquireOptions{TTL: time.Minute}
	l := c.Get("k", o)
	trace := lock.NewTrace()
	if _, err := c.Acquire(lock.WithTrace(t.Context(), trace), "k", o); !errors.Is(err, lock.ErrNotAcquired) {
		t.Errorf("acquire: %v, want not acquired", err)
	}
	if trace.Attempts() != 32 || trace.Trips() != 64 {
		t.Errorf("%d attempts and %d trips, want 32 and 64", trace.Attempts(), trace.Trips())
	}
	c.Put(l)
}

// TestOrphan: the grant is on its way when the caller leaves.
func TestOrphan(t *testing.T) {
	target := backendtest.Target(t, "redis")
	peertest.Orphan(t, redsync.Infos()[0], target, tcpproxy.New(t, target.Addrs[0]))
}

// TestLost: a lease that has run out is not held, and its release leaves the successor's lock alone.
func TestLost(t *testing.T) {
	peertest.Lost(t, redsync.Infos()[0], backendtest.Target(t, "redis"))
}
