package zkrecipe_test

import (
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/impls/locktest/peertest"
	"lockbench/lock"
)

func TestPeer(t *testing.T) {
	for _, topology := range []string{"zookeeper-1", "zookeeper-3"} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			target.TTL = 8 * time.Second
			peertest.Run(t, zkrecipe.Infos()[0], target, peertest.Options{NoTry: true, Queues: true, Rounds: 5})
		})
	}
}

// TestCounts: create, getChildren, delete.
func TestCounts(t *testing.T) {
	target := backendtest.Target(t, "zookeeper-1")
	target.TTL = 8 * time.Second
	c := peertest.Dial(t, zkrecipe.Infos()[0], target)
	want := peertest.Cost{Commands: 3, AcquireTrips: 2, ReleaseTrips: 1, Attempts: 1}
	if got := peertest.Pair(t, c, lock.AcquireOptions{TTL: target.TTL}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMinTTL(t *testing.T) {
	c := peertest.Dial(t, zkrecipe.Infos()[0], backendtest.Target(t, "zookeeper-1"))
	d, err := c.Leaser.(lock.MinTTL).MinTTL(t.Context())
	if err != nil || d <= 0 {
		t.Errorf("MinTTL: %v, %v", d, err)
	}
	t.Logf("MinTTL: %v", d)
}
