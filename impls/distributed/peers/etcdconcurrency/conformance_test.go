package etcdconcurrency_test

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/distributed/peers/etcdconcurrency"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

func TestConformance(t *testing.T) {
	leasertest.Run(t, etcdconcurrency.Infos()[0], func(t *testing.T) lock.Target { return backendtest.Target(t, "etcd-1") },
		leasertest.Breaks("acquire", "the library tells no deadline"),
	)
}
