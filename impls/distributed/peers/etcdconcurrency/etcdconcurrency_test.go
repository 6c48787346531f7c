package etcdconcurrency_test

import (
	"testing"
	"time"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/etcdconcurrency"
	"lockbench/impls/locktest/peertest"
	"lockbench/lock"
)

func TestPeer(t *testing.T) {
	for _, topology := range []string{"etcd-1", "etcd-3"} {
		t.Run(topology, func(t *testing.T) {
			target := backendtest.Target(t, topology)
			target.TTL = 20 * time.Second
			peertest.Run(t, etcdconcurrency.Infos()[0], target, peertest.Options{Rounds: 5})
		})
	}
}

// TestCounts: a transaction, a deletion.
func TestCounts(t *testing.T) {
	target := backendtest.Target(t, "etcd-1")
	target.TTL = 20 * time.Second
	c := peertest.Dial(t, etcdconcurrency.Infos()[0], target)
	want := peertest.Cost{Commands: 2, AcquireTrips: 1, ReleaseTrips: 1, Attempts: 1}
	if got := peertest.Pair(t, c, lock.AcquireOptions{TTL: target.TTL}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestMinTTL(t *testing.T) {
	c := peertest.Dial(t, etcdconcurrency.Infos()[0], backendtest.Target(t, "etcd-1"))
	d, err := c.Leaser.(lock.MinTTL).MinTTL(t.Context())
	if err != nil || d < time.Second || d%time.Second != 0 {
		t.Errorf("MinTTL: %v, %v", d, err)
	}
	t.Logf("MinTTL: %v", d)
}
