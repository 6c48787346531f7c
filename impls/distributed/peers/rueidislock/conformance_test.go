package rueidislock_test

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	leasertest.Run(t, rueidislock.Patient(), func(t *testing.T) lock.Target { return backendtest.Target(t, "redis") },
		leasertest.Breaks("acquire", "the library tells no deadline"),
	)
}
