package etcd

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

// TestConformance: see leasertest. The servers are started by the parent process only.
func TestConformance(t *testing.T) {
	for _, info := range Infos() {
		for _, topology := range topologies {
			t.Run(info.Name+"/"+topology, func(t *testing.T) {
				leasertest.Run(t, info, func(t *testing.T) lock.Target { return backendtest.Target(t, topology) })
			})
		}
	}
}
