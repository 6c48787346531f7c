package spin

import "lockbench/lock"

const family = "spin"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "tas",
			Family: family,
			Doc:    "test-and-set: swap until the word was free",
			Source: "T. E. Anderson, The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors, IEEE TPDS 1(1), 1990",
			New:    lock.Ctor(newTAS),
		},
		{
			Name:   "ttas",
			Family: family,
			Doc:    "test-and-test-and-set: read until the word looks free, then swap",
			Source: "L. Rudolph and Z. Segall, Dynamic Decentralized Cache Schemes for MIMD Parallel Processors, ISCA 1984",
			New:    lock.Ctor(newTTAS),
		},
		{
			Name:   "ttas-backoff",
			Family: family,
			Doc:    "ttas with truncated exponential back-off after a lost swap",
			Source: "A. Agarwal and M. Cherian, Adaptive Backoff Synchronization Techniques, ISCA 1989",
			New:    lock.Ctor(newTTASBackoff),
		},
		{
			Name:   "cas",
			Family: family,
			Doc:    "compare-and-swap until it succeeds",
			Source: "M. Herlihy and N. Shavit, The Art of Multiprocessor Programming, ch. 7, 2008",
			New:    lock.Ctor(newCAS),
		},
	}
}
