package redislock_test

import (
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/redislock"
	"lockbench/impls/locktest/peertest"
	"lockbench/impls/locktest/tcpproxy"
	"lockbench/lock"
)

func TestPeer(t *testing.T) {
	for _, topology := range []string{"redis", "redis-sentinel"} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			target.TTL = 20 * time.Second
			peertest.Run(t, redislock.Infos()[0], target, peertest.Options{Rounds: 3})
		})
	}
}

// TestCounts: a script to obtain, a script to release.
func TestCounts(t *testing.T) {
	c := peertest.Dial(t, redislock.Infos()[0], backendtest.Target(t, "redis"))
	want := peertest.Cost{Commands: 2, AcquireTrips: 1, ReleaseTrips: 1, Attempts: 1}
	if got := peertest.Pair(t, c, lock.AcquireOptions{TTL: 20 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestOrphan: the grant is on its way when the caller leaves.
func TestOrphan(t *testing.T) {
	target := backendtest.Target(t, "redis")
	peertest.Orphan(t, redislock.Infos()[0], target, tcpproxy.New(t, target.Addrs[0]))
}

// TestLost: a lease that has run out is not held, and its release leaves the successor's lock alone.
func TestLost(t *testing.T) {
	peertest.Lost(t, redislock.Infos()[0], backendtest.Target(t, "redis"))
}
