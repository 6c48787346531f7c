package spin

import (
	"fmt"

	"lockbench/lock"
)

const family = "spin"

// Infos returns the locks of this package, simplest first.
func Infos() []lock.Info {
	return []lock.Info{
		{
			Name:   "tas",
			Family: family,
			Doc:    "test-and-set: swap until the word was free",
			Source: "T. E. Anderson, The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors, IEEE TPDS 1(1), 1990",
			New:    ctor(newTAS),
		},
		{
			Name:   "ttas",
			Family: family,
			Doc:    "test-and-test-and-set: read until the word looks free, then swap",
			Source: "L. Rudolph and Z. Segall, Dynamic Decentralized Cache Schemes for MIMD Parallel Processors, ISCA 1984",
			New:    ctor(newTTAS),
		},
		{
			Name:   "ttas-backoff",
			Family: family,
			Doc:    "ttas with truncated exponential back-off after a lost swap",
			Source: "A. Agarwal and M. Cherian, Adaptive Backoff Synchronization Techniques, ISCA 1989",
			New:    ctor(newTTASBackoff),
		},
		{
			Name:   "cas",
			Family: family,
			Doc:    "compare-and-swap until it succeeds",
			Source: "M. Herlihy and N. Shavit, The Art of Multiprocessor Programming, ch. 7, 2008",
			New:    ctor(newCAS),
		},
	}
}

// ctor adapts a constructor to Info.New, which returns an error for fewer
// than one worker.
func ctor[L lock.Lock](build func(workers int) L) func(int) (lock.Lock, error) {
	return func(workers int) (lock.Lock, error) {
		if workers < 1 {
			return nil, fmt.Errorf("%d workers: want at least 1", workers)
		}
		return build(workers), nil
	}
}
