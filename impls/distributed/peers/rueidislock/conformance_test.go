package rueidislock_test

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/rueidislock"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	leasertest.Run(t, rueidislock.Infos()[0], func(t *testing.T) lock.Target { return backendtest.Target(t, "redis") })
}
