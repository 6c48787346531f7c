package loopback_test

import (
	"testing"
	"time"

	"lockbench/impls/distributed/loopback"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

// listen starts a server of the test's own.
func listen(t testing.TB) *loopback.Server {
	t.Helper()
	s, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func target(s *loopback.Server) lock.Target {
	return lock.Target{Service: lock.ServiceLoopback, Topology: "loopback", Addrs: []string{s.Addr()},
		Prefix: "lockbench/test/t/", TTL: time.Second, Workers: 8, DialTimeout: 10 * time.Second, Meter: &lock.Meter{}}
}

func TestConformance(t *testing.T) {
	for _, info := range loopback.Infos() {
		if info.Control { // locks nothing, on purpose
			continue
		}
		var opts []leasertest.Option
		if info.Name == "control-naive" {
			opts = append(opts, leasertest.Breaks("successor", "its release deletes whatever is there"))
		}
		t.Run(info.Name, func(t *testing.T) {
			leasertest.Run(t, info, func(t *testing.T) lock.Target { return target(listen(t)) }, opts...)
		})
	}
}

// TestProcessCheckCatches: client processes that share no lock at all are found
// out, and so is the process check if it ever looks away.
func TestProcessCheckCatches(t *testing.T) {
	for _, info := range loopback.Infos() {
		if info.Name == "null-lease" {
			leasertest.Run(t, info, func(t *testing.T) lock.Target { return target(listen(t)) },
				leasertest.Only("process"), leasertest.Breaks("process", "it locks nothing"))
		}
	}
}
