package zkrecipe_test

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	leasertest.Run(t, zkrecipe.Infos()[0], func(t *testing.T) lock.Target { return backendtest.Target(t, "zookeeper-1") })
}
