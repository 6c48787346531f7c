package rueidislock_test

import (
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/locktest/peertest"
	"lockbench/lock"
)

func TestPeer(t *testing.T) {
	for _, topology := range []string{"redis", "redis-sentinel"} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			target.TTL = 20 * time.Second
			peertest.Run(t, rueidislock.Patient(), target, peertest.Options{Rounds: 5})
		})
	}
}

// TestCounts: a script to acquire, a script to delete.
func TestCounts(t *testing.T) {
	target := backendtest.Target(t, "redis")
	target.TTL = 20 * time.Second
	c := peertest.Dial(t, rueidislock.Patient(), target)
	want := peertest.Cost{Commands: 2, AcquireTrips: 1, ReleaseTrips: 1, Attempts: 1}
	if got := peertest.Pair(t, c, lock.AcquireOptions{TTL: target.TTL}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
