package redis

import (
	"testing"

	"lockbench/backends/backendtest"
	"lockbench/impls/locktest/leasertest"
	"lockbench/lock"
)

// TestConformance: see leasertest. The servers are started by the parent process only.
func TestConformance(t *testing.T) {
	for _, info := range Infos() {
		var opts []leasertest.Option
		if info.Name == "redis-naive" {
			opts = append(opts, leasertest.Breaks("successor", "the classic mistake: a plain DEL, whoever holds it"))
		}
		t.Run(info.Name, func(t *testing.T) {
			leasertest.Run(t, info, func(t *testing.T) lock.Target { return backendtest.Target(t, "redis") }, opts...)
		})
	}
}
