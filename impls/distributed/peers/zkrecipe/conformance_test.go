package zkrecipe_test

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/zkrecipe"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	leasertest.Run(t, zkrecipe.Infos()[0], func(t *testing.T) lock.Target { return backendtest.Target(t, "zookeeper-1") },
		leasertest.Breaks("acquire", "the library tells no deadline"),
		leasertest.Without("try", "the library has no single attempt: see TestPeer"),
		leasertest.Without("successor", "the library tells of a lost session after it is connected again only: see TestCutOff"),
	)
}
